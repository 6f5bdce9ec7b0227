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

  // Up to `position_count_max` of the numbers below `count`, evenly spread, with
  // the first and the last among them.
  template <class Use>
  void for_positions(std::size_t count, std::size_t position_count_max, Use use) {
    const std::size_t taken = std::min(count, position_count_max);
    for (std::size_t i = 0; i < taken && !stopped_; ++i) {
      use(taken < 2 ? 0 : i * (count - 1) / (taken - 1));
    }
  }

  void prefixes() {
    for_positions(atoms_.size() + 1, limits_.position_count_max, [&](std::size_t size) {
      set_prefix(size);
      visit();
    });
  }

  void one_against_the_rest(bool one) {
    for_positions(atoms_.size(), limits_.position_count_max, [&](std::size_t i) {
      set_all(!one);
      choice_.kept[i] = one;
      visit();
    });
  }

  void samples() {
    for (std::size_t n = 0; n < limits_.sample_count && !stopped_; ++n) {
      for (std::size_t i = 0; i < atoms_.size(); ++i) choice_.kept[i] = (random_() & 1) != 0;
      visit();
    }
  }

  void garbage() {
    std::vector<std::size_t> sectors;
    for (std::size_t i = 0; i < atoms_.size(); ++i) {
      if (atoms_[i].kind == Atom::Kind::sector) sectors.push_back(i);
    }
    for_positions(sectors.size(), limits_.garbage_count_max, [&](std::size_t position) {
      const std::size_t i = sectors[position];
      choice_.garbage_index = i;
      for (int surroundings = 0; surroundings < 3 && !stopped_; ++surroundings) {
        set_prefix(surroundings == 0 ? atoms_.size() : surroundings == 1 ? i : 0);
        choice_.garbage_seed = random_();
        visit();
      }
    });
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
