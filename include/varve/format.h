// Formats by name: finding out which one a path is in, and bringing one's own.
//
// Saves are named by a path, or by a scheme and a name ("memory:arena"). What stands before
// the first colon is a scheme if there is a format of that name; the format then gets
// the path whole. A Format knows what its saves look like and opens them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "varve/result.h"
#include "varve/store.h"

namespace varve {

// Thread safety: all calls may be made from any thread.
class Format {
 public:
  virtual ~Format() = default;

  virtual std::string_view name() const = 0;
  // Whether `path` is a save of this format, by a mark of the format's own and not by
  // its name alone. It may be damaged. False also if there is nothing at all.
  virtual Result<bool> detect(std::string_view path) const = 0;
  // Opens a save to read and write. not_found if there is none; busy, naming the holder,
  // if somebody else writes it.
  virtual Result<std::unique_ptr<Store>> open(std::string_view path) const = 0;
  // Opens a save to look at it, whoever writes it meanwhile: keeps nobody from writing and changes
  // nothing on the disk, not even what a crash left to be finished. (One that may not write to a
  // save of the varve format looks at it while nobody else does.) It shows the
  // generation that is the newest now; a record the writer has replaced since reads as
  // busy, and opening again helps. Calls that change the save are refused as unsupported.
  // A format that cannot do this opens as open() does.
  virtual Result<std::unique_ptr<Store>> open_to_read(std::string_view path) const {
    return open(path);
  }
  // Makes an empty save, durably. Refused if anything is at `path`, or if backups of a save
  // that is gone are there, which the new one would rotate away, or what a restore that was cut
  // short has to bring back.
  virtual Result<std::unique_ptr<Store>> create(std::string_view path) const = 0;
  // Gives a closed save another name, in one durable step. Refused if the name is taken.
  virtual Status rename(std::string_view from, std::string_view to) const = 0;
  // Removes a closed save and its backups, not one that was kept before a restore. Success if there
  // is none.
  virtual Status remove(std::string_view path) const = 0;
};

// Makes a format known to this process, for good. Refused if the name is taken.
Status register_format(std::unique_ptr<const Format> format);

// Those that ship with Varve and those that were registered, by name.
std::vector<const Format*> formats();

// not_found, listing the formats there are.
Result<const Format*> find_format(std::string_view name);

// Whose save is at `path`. not_found if nothing is there; unsupported if something is,
// and no format knows it.
Result<const Format*> detect_format(std::string_view path);

// Opens the save at `path` in the format it is in: to read and write, or to look at it.
Result<std::unique_ptr<Store>> open_store(std::string_view path);
Result<std::unique_ptr<Store>> open_store_to_read(std::string_view path);

}  // namespace varve
