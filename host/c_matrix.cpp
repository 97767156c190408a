#include "host/c_matrix.h"

#include <fmt/format.h>

#include <algorithm>

#include "host/c_types.h"

namespace tilecast::host {

std::int64_t padded_lanes(const std::string& type) {
  constexpr int kVectorBytes = 64;
  return kVectorBytes / bytes_of(type);
}

std::string product_suffix(ir::DType dtype) {
  const std::string_view type = product_type(dtype);
  if (type == "float") return "f";
  if (type == "double") return "d";
  return type == "int64_t" ? "i64" : "i32";
}

void clear(const Pass& pass, const Stage& stage, const std::vector<const PassLoop*>& split,
           Writer& out) {
  const std::string first = pass.first_piece(split);
  out.line(fmt::format("{}memset({}, 0, {});", first.empty() ? "" : "if (" + first + ") ",
                       stage.buffer, stage.elements * bytes_of(stage.type)));
}

std::vector<ProductDim> joined(std::vector<ProductDim> dims) {
  std::vector<ProductDim> made;
  for (ProductDim& dim : dims) {
    if (dim.size == Index(1)) continue;
    if (!made.empty() && dim.size.is_constant()) {
      ProductDim& outer = made.back();
      const std::int64_t n = dim.size.constant();
      if (outer.a == n * dim.a && outer.b == n * dim.b && outer.c == n * dim.c) {
        dim.largest *= outer.largest;
        dim.size = outer.size * n;
        outer = dim;
        continue;
      }
    }
    made.push_back(dim);
  }
  return made;
}

void write_product(Product product, Writer& out) {
  std::vector<ProductDim> rows = joined(std::move(product.rows));
  ProductDim row{1, 1, 0, 0, 0};
  if (!rows.empty()) {
    const auto most = std::max_element(
        rows.begin(), rows.end(),
        [](const ProductDim& a, const ProductDim& b) { return a.largest < b.largest; });
    row = *most;
    rows.erase(most);
  }
  std::vector<ProductDim> loops = std::move(product.outer);
  loops.insert(loops.end(), rows.begin(), rows.end());
  std::string a = product.a, b = product.b, c = product.c;
  std::size_t open = 0;
  for (const ProductDim& loop : loops) {
    if (loop.size == Index(1)) continue;
    const std::string name = fmt::format("x{}", open++);
    out.open(fmt::format("for (int64_t {0} = 0; {0} < {1}; ++{0})", name, loop.size.text()));
    for (const auto& [text, stride] : {std::pair{&a, loop.a}, {&b, loop.b}, {&c, loop.c}}) {
      if (stride != 0) *text += fmt::format(" + {}*{}", name, stride);
    }
  }
  std::string n = product.columns.size.text();
  if (product.lanes > 1) {
    const std::int64_t lanes = product.lanes;
    n = product.columns.size.is_constant()
            ? std::to_string((product.columns.size.constant() + lanes - 1) / lanes * lanes)
            : fmt::format("({} + {})/{}*{}", n, lanes - 1, lanes, lanes);
  }
  out.line(fmt::format("{}({}, {}, {}, {}, {}, {}, {}, {}, {});", product.function, row.size.text(),
                       n, product.depth.size.text(), a, row.a, b, product.ldb, c, row.c));
  for (; open > 0; --open) out.close();
}

}  // namespace tilecast::host
