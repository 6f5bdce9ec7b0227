// Varve saves as Subjects of the crash driver, on small logs, made through their format.
#pragma once

#include "backend/log/small_log.h"
#include "crash/store_subject.h"
#include "store/varve/varve_format.h"

namespace varve::test {

inline std::unique_ptr<const Format> small_format(Vfs& vfs, const VarveOptions& options = {}) {
  return make_varve_format(vfs, "varve", SaveBackend::file, options, small_log_options());
}

// No crash is damage: a problem in the report is a violation, and so is one that verify() finds.
Result<std::unique_ptr<Store>> open_checked(const Format& format, std::string_view path);

// The save "world", made if it is not there.
Result<std::unique_ptr<Store>> open_or_create_save(Vfs& vfs);
Result<std::unique_ptr<Store>> open_or_create_sharing_save(Vfs& vfs);

// Saves that are made, written, renamed and removed. Each step does one of these with saves that
// nobody has open; its upkeep is "create A", "commit A", "rename A B" or "remove A". The records
// of a save A are shown as "A/chunk:1,2", and "A/" says that there is one. What is left over of a
// step that was cut short is not shown, but must not be in the way of the next.
class FolderSubject final : public crash::Subject {
 public:
  Result<std::unique_ptr<crash::Session>> open(Vfs& vfs) override;
  crash::Step one_more() const override;
};

// Steps for it, with what they are to change.
crash::Step create_step(const std::string& path);
crash::Step commit_step(const std::string& path, std::string_view text);
// `records` are those of the save.
crash::Step rename_step(const std::string& from, const std::string& to, std::string_view text);
crash::Step remove_step(const std::string& path);

}  // namespace varve::test
