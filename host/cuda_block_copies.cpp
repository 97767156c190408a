// Copies, distributed over the threads of a block.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "host/c_function.h"
#include "host/c_types.h"
#include "host/cuda_block.h"

namespace tilecast::host {

namespace loops = schedule;

namespace {

constexpr std::int64_t kCopied = 16;  // bytes: the largest piece of an asynchronous copy

}  // namespace

void BlockWriter::write(const loops::Copy& copy) {
  if (registers_.holds(copy.to.buffer) || registers_.holds(copy.from.buffer)) {
    return write_held_copy(copy);
  }
  write_pieces(copy, piece_of(copy));
}

void BlockWriter::write_held_copy(const loops::Copy& copy) {
  const bool loads = registers_.holds(copy.to.buffer);
  const loops::Access &own = loads ? copy.to : copy.from, &other = loads ? copy.from : copy.to;
  const loops::Buffer& buffer = program_.buffer(own.buffer);
  if (registers_.holds(other.buffer)) throw Refused{"a copy from registers to registers"};
  const bool whole = copy.extents == buffer.dims &&
                     std::all_of(own.at.begin(), own.at.end(), [](const loops::Index& index) {
                       return index.is_constant() && index.constant() == 0;
                     });
  if (!whole) throw Refused{fmt::format("a part of {}, which registers hold", own.buffer)};
  const Held& held = registers_.held(own.buffer);
  if (held.spread == Spread::kFragments && loads) {
    const ir::Dims by = loops::strides(program_.buffer(other.buffer));
    if (held.part == Part::kSums || copy.padded || by.back() != 1) {
      throw Refused{"fragments are loaded from rows in shared memory only"};
    }
    return registers_.load_fragments(*out_, own, place(other), by[by.size() - 2]);
  }
  std::vector<std::string> positions;
  std::vector<loops::Index> offset;
  for (std::size_t d = 0; d < copy.extents.size(); ++d) {
    positions.push_back(fmt::format("at{}", d));
    extents_[positions.back()] = copy.extents[d];
    offset.push_back(loops::Index::of(positions.back()));
  }
  const Registers::Element element = registers_.open(*out_, own, positions, !loads);
  const std::string there = place(other, offset);
  std::string inside;
  if (copy.padded) {
    inside = condition(inside_bounds(program_.buffer(other.buffer), other, offset));
  }
  if (loads) {
    out_->line(fmt::format("{} = {};", element.place,
                           inside.empty() ? there
                                          : fmt::format("{} ? {} : {}(0.0f)", inside, there,
                                                        cuda_type(buffer.dtype))));
  } else {
    const ir::DType from = buffer.dtype, to = program_.buffer(other.buffer).dtype;
    if (from != to) throw Refused{"a copy between two types"};
    out_->line(fmt::format("{}{} = {};", inside.empty() ? "" : "if (" + inside + ") ", there,
                           element.place));
  }
  for (int i = 0; i < element.opened; ++i) out_->close();
}

// Number of elements that one thread can copy at once: contiguous in both arrays, aligned, and all
// inside or all outside the bounds.
std::int64_t BlockWriter::piece_of(const loops::Copy& copy) const {
  const loops::Buffer &from = program_.buffer(copy.from.buffer),
                      &to = program_.buffer(copy.to.buffer);
  if (copy.extents.empty() || loops::strides(from).back() != 1 || loops::strides(to).back() != 1) {
    return 1;
  }
  const std::int64_t bytes = bytes_of_element(to.dtype);
  const auto aligned = [&](const loops::Buffer& buffer, const loops::Access& access,
                           std::int64_t piece) {
    const ir::Dims by = loops::strides(buffer);
    const bool rows = std::all_of(by.begin(), by.end() - 1,
                                  [&](std::int64_t stride) { return stride % piece == 0; });
    return rows && address_of(buffer, access) % piece == loops::Index(0) &&
           (buffer.stages == 1 || stage_elements(buffer) % piece == 0) &&
           (!copy.padded ||
            (buffer.dims.back() % piece == 0 && access.at.back() % piece == loops::Index(0)));
  };
  for (std::int64_t piece = kCopied / bytes; piece > 1; piece /= 2) {
    if (copy.extents.back() % piece == 0 && aligned(from, copy.from, piece) &&
        aligned(to, copy.to, piece)) {
      return piece;
    }
  }
  return 1;
}

void BlockWriter::write_pieces(const loops::Copy& copy, std::int64_t piece) {
  const std::int64_t count = std::accumulate(copy.extents.begin(), copy.extents.end(),
                                             std::int64_t{1}, std::multiplies<>()) /
                             piece;
  const std::int64_t bytes = piece * bytes_of_element(program_.buffer(copy.to.buffer).dtype);
  open_threads(count);
  loops::Index rest = loops::Index::of("t");
  std::vector<loops::Index> offset(copy.extents.size());
  for (std::size_t d = offset.size(); d-- > 0;) {
    const std::int64_t extent = d + 1 == offset.size() ? copy.extents[d] / piece : copy.extents[d];
    offset[d] = d == 0 ? rest : rest % extent;
    if (d + 1 == offset.size()) offset[d] = offset[d] * piece;
    rest = rest / extent;
  }
  for (std::size_t d = 0; d < offset.size(); ++d) {
    out_->line(fmt::format("const int at{} = {};", d, index_text(offset[d])));
    offset[d] = loops::Index::of(fmt::format("at{}", d));
    extents_[fmt::format("at{}", d)] = copy.extents[d];
  }
  const std::string to = place(copy.to, offset), from = place(copy.from, offset);
  std::string inside, kept;
  if (copy.padded) {
    inside = condition(inside_bounds(program_.buffer(copy.from.buffer), copy.from, offset));
    kept = condition(inside_bounds(program_.buffer(copy.to.buffer), copy.to, offset));
  }
  const std::string only = kept.empty() ? "" : "if (" + kept + ") ";
  const bool shared = program_.buffer(copy.to.buffer).scope == loops::Scope::kShared;
  if (copy.async && shared && bytes >= 4) {
    const std::string base = cuda_name(copy.from.buffer);
    out_->line(inside.empty()
                   ? fmt::format("{}__pipeline_memcpy_async(&{}, &{}, {});", only, to, from, bytes)
                   : fmt::format("const bool inside = {};", inside));
    if (!inside.empty()) {
      out_->line(
          fmt::format("{}__pipeline_memcpy_async(&{}, inside ? &{} : {}, {}, inside ? 0 : {});",
                      only, to, from, base, bytes, bytes));
    }
  } else {
    const std::string type = piece == 1    ? cuda_type(program_.buffer(copy.to.buffer).dtype)
                             : bytes == 16 ? "uint4"
                             : bytes == 8  ? "uint2"
                             : bytes == 4  ? "unsigned"
                                           : "uint16_t";
    const auto whole = [&](const std::string& element, const char* constant) {
      return piece == 1 ? element
                        : fmt::format("*reinterpret_cast<{}{}*>(&{})", constant, type, element);
    };
    const std::string source = whole(from, "const ");
    const std::string zero = type + (piece == 1 ? "(0.0f)" : "{}");
    out_->line(
        fmt::format("{}{} = {};", only, whole(to, ""),
                    inside.empty() ? source : fmt::format("{} ? {} : {}", inside, source, zero)));
  }
  out_->close();
}

}  // namespace tilecast::host
