// load_module() of a program whose text is at hand, instead of a path.
#pragma once

#include "base/source_text.h"
#include "ir/load_program.h"

namespace tilecast::ir {

// The bytes of a file of any form that read_module() knows; `text.file()` names them in messages.
// Throws Error. Thread-safe.
[[nodiscard]] LoadedModule load_module(base::SourceText text, const LoadOptions& options);

}  // namespace tilecast::ir
