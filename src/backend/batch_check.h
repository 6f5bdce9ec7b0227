// What a backend asks of keys and batches before it does anything, so that all of them refuse the
// same things in the same words.
//
// Everything refused is invalid_argument, and the message names the key and the limit. Nothing
// here throws but printable_key().
#pragma once

#include <string>

#include "varve/backend.h"

namespace varve {

// Success if a backend with these traits may be asked for the key.
Status check_key(const BackendTraits& traits, ByteView key);

// Success if it may write the batch: every key, every value, the size of all, and that the keys
// belong together where it can only write such at once.
Status check_batch(const BackendTraits& traits, const WriteBatch& batch);

// What every call says once the backend is closed. Does not throw.
Error closed_error(const BackendTraits& traits);

// A key for messages: "chunk/1" with the quotes, or 0x00ff if it is not plain ASCII. After 32 bytes
// it is cut, and dots say so. Throws std::bad_alloc.
std::string printable_key(ByteView key);

}  // namespace varve
