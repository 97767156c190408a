// What the page needs of a document, for Errors that name the place of what is missing or of
// another kind. Anything else is left alone: a schema may gain members.
#pragma once

#include "sim/report/json_reader.h"

namespace tilecast::sim::report {

// `schema`: that of the document. One without a description here needs nothing.
void check_needed(const Value& root, std::string_view schema);

}  // namespace tilecast::sim::report
