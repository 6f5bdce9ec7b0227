#include "io/sim/crash_states.h"

#include <algorithm>
#include <random>

namespace varve::sim {
namespace {

class Chooser {
 public:
  Chooser(const DiskReplay& replay, const CrashLimits& limits, std::uint64_t seed,
          const std::function<bool(const CrashChoice&)>& visit)
      : atoms_(replay.pending()), limits_(limits), random_(seed), visit_(visit) {
    choice_.kept.resize(atoms_.size());
  }

  void run() {
    if (atoms_.size() <= limits_.all_subsets_atom_count) {
      all_subsets();
    } else {
      prefixes();
      one_against_the_rest(false);
      one_against_the_rest(true);
      samples();
    }
    garbage();
  }

 private:
  void visit() { stopped_ = stopped_ || !visit_(choice_); }

  void set_all(bool kept) { std::fill(choice_.kept.begin(), choice_.kept.end(), kept); }

  void set_prefix(std::size_t size) {
    for (std::size_t i = 0; i < choice_.kept.size(); ++i) choice_.kept[i] = i < size;
  }

  void all_subsets() {
    for (std::uint64_t bits = 0; bits < std::uint64_t{1} << atoms_.size() && !stopped_; ++bits) {
      for (std::size_t i = 0; i < atoms_.size(); ++i) choice_.kept[i] = (bits >> i & 1) != 0;
      visit();
    }
  }

  // At most `count_max` of `from`, one from each of as many equal stretches, where
  // in the stretch by the seed.
  std::vector<std::size_t> spread(const std::vector<std::size_t>& from, std::size_t count_max) {
    if (from.size() <= count_max) return from;
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < count_max; ++i) {
      const std::size_t begin = i * from.size() / count_max;
      const std::size_t end = (i + 1) * from.size() / count_max;
      chosen.push_back(from[begin + random_() % (end - begin)]);
    }
    return chosen;
  }

  std::vector<std::size_t> indexes(bool of_sectors) const {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < atoms_.size(); ++i) {
      if ((atoms_[i].kind == Atom::Kind::sector) == of_sectors) found.push_back(i);
    }
    return found;
  }

  // Changes of names and sizes are few and decide most; sectors are many and alike.
  // Each kind gets its share, or a rename among a thousand sectors would never be
  // looked at by itself.
  std::vector<std::size_t> positions() {
    std::vector<std::size_t> chosen = spread(indexes(false), limits_.position_count_max);
    const std::vector<std::size_t> sectors = spread(indexes(true), limits_.position_count_max);
    chosen.insert(chosen.end(), sectors.begin(), sectors.end());
    return chosen;
  }

  void prefixes() {
    set_prefix(0);
    visit();
    for (const std::size_t i : positions()) {
      if (stopped_) return;
      set_prefix(i + 1);
      visit();
    }
  }

  void one_against_the_rest(bool one) {
    for (const std::size_t i : positions()) {
      if (stopped_) return;
      set_all(!one);
      choice_.kept[i] = one;
      visit();
    }
  }

  void samples() {
    for (std::size_t n = 0; n < limits_.sample_count && !stopped_; ++n) {
      for (std::size_t i = 0; i < atoms_.size(); ++i) choice_.kept[i] = (random_() & 1) != 0;
      visit();
    }
  }

  void garbage() {
    for (const std::size_t i : spread(indexes(true), limits_.garbage_count_max)) {
      choice_.garbage_index = i;
      for (int surroundings = 0; surroundings < 3 && !stopped_; ++surroundings) {
        set_prefix(surroundings == 0 ? atoms_.size() : surroundings == 1 ? i : 0);
        keep_growth_of(atoms_[i].node);
        choice_.garbage_seed = random_();
        visit();
      }
    }
  }

  // Garbage beyond the end of its file would not be seen.
  void keep_growth_of(NodeId node) {
    for (std::size_t i = 0; i < atoms_.size(); ++i) {
      const Atom& atom = atoms_[i];
      if (atom.kind == Atom::Kind::size && atom.node == node && !atom.shrinks) {
        choice_.kept[i] = true;
      }
    }
  }

  const std::vector<Atom>& atoms_;
  const CrashLimits& limits_;
  std::mt19937_64 random_;
  const std::function<bool(const CrashChoice&)>& visit_;
  CrashChoice choice_;
  bool stopped_ = false;
};

}  // namespace

void for_each_crash(const DiskReplay& replay, const CrashLimits& limits, std::uint64_t seed,
                    const std::function<bool(const CrashChoice&)>& visit) {
  Chooser(replay, limits, seed, visit).run();
}

}  // namespace varve::sim
