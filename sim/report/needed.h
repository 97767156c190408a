// Checks that a document has the members that the page needs, so that an Error names the place of a
// missing or mistyped one. Other members are ignored, so that a schema may be extended.
#pragma once

#include "sim/report/json_reader.h"

namespace tilecast::sim::report {

// `schema`: the document's. Schemas unknown here have no required members.
void check_needed(const Value& root, std::string_view schema);

}  // namespace tilecast::sim::report
