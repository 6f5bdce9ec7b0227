// How far a thread that works in the background stands behind the game's.
//
// A nice level alone is a share of the time, and a thread that has slept has not had its own: it
// takes the core from the game the moment it wakes, and keeps it for milliseconds. So a thread
// that stands behind also gives up the right to interrupt (SCHED_BATCH).
//
// That is not all. When something else interrupts the game for a moment, an interrupt that wakes a
// thread of the kernel, the core is given to whoever is owed the most time next, and nobody looks
// again before the next tick of the clock, 4 ms later. So a thread that stands behind also offers
// its core between two pieces of its work.
//
// Linux alone. Elsewhere, and where the system refuses, such a thread runs as all others do.
#pragma once

#include <atomic>
#include <cstddef>

namespace varve {

// On Linux each thread has a level of its own, whatever POSIX says about processes.
int nice_level_of_this_thread() noexcept;

// So many levels behind `level`, 19 at the most. The level is that of whoever the work is done for:
// an absolute one would put the threads of a game that is nice itself before the game.
void put_this_thread_behind(int level, int levels) noexcept;

// To be called between pieces of work, with the bytes that were worked on. A thread that was put
// behind offers its core to whoever waits for it, now and then; for others it does nothing.
void give_way(std::size_t work_size) noexcept;
// While it lives, this thread gives way only as long as nobody waits for its work: who waits stands
// before all others, and would wait for them, too. The count must outlive it.
class GivesWayUnlessWaitedFor {
 public:
  explicit GivesWayUnlessWaitedFor(const std::atomic<int>& waiter_count) noexcept;
  ~GivesWayUnlessWaitedFor();
  GivesWayUnlessWaitedFor(const GivesWayUnlessWaitedFor&) = delete;
  GivesWayUnlessWaitedFor& operator=(const GivesWayUnlessWaitedFor&) = delete;
};

// How much of `size` bytes to hand to the system in one call, which nothing interrupts.
std::size_t piece_between_ways(std::size_t size) noexcept;

}  // namespace varve
