// Indices, places and values of a loop program as C text: what every writer of its loops needs.
// Throws Refused (c_function.h) where something is not generated. Pure functions; thread-safe.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "schedule/loop_program.h"

namespace tilecast::host {

// A buffer's or loop's name as a C identifier.
[[nodiscard]] std::string c_name(std::string name);
// Rounds as C does: indices of a loop program are not negative where they are divided.
[[nodiscard]] std::string index_text(const schedule::Index& index);
// "i >= 0 && i < 60"; "" without bounds. What always holds for variables below their `extents` is
// left out; without extents nothing is.
[[nodiscard]] std::string condition_text(const std::vector<schedule::Bound>& where,
                                         const schedule::Extents& extents = {});

// Of one stage, with what lies between its rows.
[[nodiscard]] std::int64_t stage_elements(const schedule::Buffer& buffer);
[[nodiscard]] std::int64_t bytes_of_element(ir::DType dtype);  // in memory

// Elements from the start of the buffer's stage, `offset` further along each dimension where given.
[[nodiscard]] schedule::Index address_of(const schedule::Buffer& buffer,
                                         const schedule::Access& access,
                                         const std::vector<schedule::Index>& offset = {});
// May an element of a copy's box lie outside of the buffer along this dimension? Not where a cache
// is copied from its start.
[[nodiscard]] bool is_clipped(const schedule::Buffer& buffer, const schedule::Access& access,
                              std::size_t dim);
// What keeps an element of a copy's box, `offset` from its first, inside of the buffer.
[[nodiscard]] std::vector<schedule::Bound> inside_bounds(
    const schedule::Buffer& buffer, const schedule::Access& access,
    const std::vector<schedule::Index>& offset);

// The value (c_types.h) of what lies where an access says.
using ElementText = std::function<std::string(const schedule::Access&)>;
[[nodiscard]] std::string value_text(const schedule::Value& value, const ElementText& element);
// `combine` of two values, rounded.
[[nodiscard]] std::string combination_text(ir::Opcode combine, ir::DType dtype,
                                           const std::string& a, const std::string& b);

}  // namespace tilecast::host
