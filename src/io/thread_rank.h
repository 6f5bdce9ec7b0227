// How far a thread that works in the background stands behind the game's.
//
// A nice level alone is a share of the time, and a thread that has slept has not had its own: it
// takes the core from the game the moment it wakes, and keeps it for milliseconds. So a thread
// that stands behind also gives up the right to interrupt (SCHED_BATCH).
//
// Linux alone. Elsewhere, and where the system refuses, such a thread runs as all others do.
#pragma once

namespace varve {

// On Linux each thread has a level of its own, whatever POSIX says about processes.
int nice_level_of_this_thread() noexcept;

// So many levels behind `level`, 19 at the most. The level is that of whoever the work is done for:
// an absolute one would put the threads of a game that is nice itself before the game.
void put_this_thread_behind(int level, int levels) noexcept;

}  // namespace varve
