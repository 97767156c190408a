// Result shapes of gather and scatter.
#include <algorithm>

#include "ir/infer/infer_rules.h"

namespace tilecast::ir::infer {
namespace {

bool ascending(const Dims& dims) {
  return std::is_sorted(dims.begin(), dims.end());
}

void check_in_range(const Dims& dims, int rank, std::string_view what) {
  for (const std::int64_t dim : dims) {
    fail_if(dim < 0 || dim >= rank, "Invalid {}; valid range is [0, {}), got: {}.", what, rank,
            dim);
  }
}

// Checks that dimensions are sorted, unique and in [0, rank).
void check_window_dims(const Dims& dims, int rank, std::string_view name, std::string_view op) {
  for (const std::int64_t dim : dims) {
    fail_if(dim < 0 || dim >= rank, "Invalid {} set in {} op; valid range is [0, {}), got: {}.",
            name, op, rank, dim);
  }
  fail_if(!ascending(dims), "{} in {} op must be sorted; got: {}", name, op, join(dims));
  fail_if(!all_unique(dims),
          "Repeated dimensions not allowed in {} in {} op; {} in {} op must not repeat; got: {}.",
          name, op, name, op, join(dims));
}

// Indices with the index vector dimension made explicit: s32[5] with index_vector_dim=1 is [5,1].
Shape expanded_indices(const Shape& indices, std::int64_t vector_dim, std::string_view op) {
  Shape expanded = array_like(indices, indices.dtype);
  fail_if(vector_dim < 0 || vector_dim > indices.rank(),
          "{} index leaf dimension must be within [0, rank(indices) + 1). rank(indices) is {} and "
          "{} index leaf dimension is {}.",
          op, indices.rank(), op == "Gather" ? "gather" : "scatter", vector_dim);
  if (vector_dim == indices.rank()) expanded.dims.push_back(1);
  return expanded;
}

// Checks the map from index components to operand dimensions.
void check_index_map(const Dims& map, const Shape& indices, std::int64_t vector_dim, int rank,
                     std::string_view op, std::string_view name) {
  const std::int64_t bound = indices.dims[static_cast<std::size_t>(vector_dim)];
  fail_if(static_cast<std::int64_t>(map.size()) != bound,
          "{} op has {} elements in {} and the bound of dimension index_vector_dim={} of {} is {}. "
          "These two numbers must be equal.",
          op, map.size(), name, vector_dim, op == "Gather" ? "start_indices" : "scatter_indices",
          bound);
  for (std::size_t i = 0; i < map.size(); ++i) {
    if (map[i] < 0 || map[i] >= rank) {
      fail("Invalid {}{}; domain is [0, {}), got: {}->{}.", name, op == "Gather" ? "" : " mapping",
           rank, i, map[i]);
    }
  }
  fail_if(!all_unique(map), "Repeated dimensions {}not allowed in {}; got: {}.",
          op == "Gather" ? "are " : "", name, join(map));
}

// Checks the batching dimensions, which pair operand dimensions with dimensions of the indices.
void check_batching(const Dims& operand_dims, const Dims& index_dims, const Shape& operand,
                    const Shape& indices, std::int64_t vector_dim, std::string_view op) {
  fail_if(operand_dims.size() != index_dims.size(),
          "{} op requires equal numbers of operand and indices batching dims; got {} and {}.", op,
          operand_dims.size(), index_dims.size());
  check_in_range(operand_dims, operand.rank(), "batching dims of operand");
  check_in_range(index_dims, indices.rank(), "batching dims of indices");
  fail_if(contains(index_dims, vector_dim),
          "{} op cannot have the index vector dimension as a batching dimension; got {}.", op,
          join(index_dims));
  for (std::size_t i = 0; i < operand_dims.size(); ++i) {
    const std::int64_t of_operand = operand.dims[static_cast<std::size_t>(operand_dims[i])];
    const std::int64_t of_indices = indices.dims[static_cast<std::size_t>(index_dims[i])];
    fail_if(of_operand != of_indices,
            "{} op requires the batching dimensions to have the same size; got {} and {}.", op,
            of_operand, of_indices);
  }
}

void check_disjoint(const Dims& dropped, const Dims& batching, std::string_view op) {
  Dims both = dropped;
  both.insert(both.end(), batching.begin(), batching.end());
  fail_if(!all_unique(both),
          "{} op requires each operand dimension at most once among dropped and batching "
          "dimensions; got {}.",
          op, join(both));
}

void check_slice_sizes(const GatherAttrs& attrs, const Shape& input) {
  const Dims& sizes = attrs.slice_sizes;
  fail_if(sizes.size() != input.dims.size(),
          "Gather op must have one slice size for every input dimension; got: len(slice_sizes)={}, "
          "input_shape.rank={}.",
          sizes.size(), input.rank());
  fail_if(sizes.size() != attrs.offset_dims.size() + attrs.collapsed_slice_dims.size() +
                              attrs.operand_batching_dims.size(),
          "All components of the offset index in a gather op must either be a offset dimension or "
          "explicitly collapsed; got len(slice_sizes)={}, output_slice_sizes={}, "
          "collapsed_slice_dims={}.",
          sizes.size(), join(attrs.offset_dims), join(attrs.collapsed_slice_dims));
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0 || sizes[i] > input.dims[i]) {
      fail("Slice size at index {} in gather op is out of range, must be within [0, {}), got {}.",
           i, input.dims[i] + 1, sizes[i]);
    }
  }
  for (const Dims* dropped : {&attrs.collapsed_slice_dims, &attrs.operand_batching_dims}) {
    for (std::size_t i = 0; i < dropped->size(); ++i) {
      const auto dim = static_cast<std::size_t>((*dropped)[i]);
      fail_if(sizes[dim] > 1,
              "Gather op can only collapse slice dims with bound 1 or 0, but bound is {} for index "
              "{} at position {}.",
              sizes[dim], dim, i);
    }
  }
}

void check_gather(const GatherAttrs& attrs, const Shape& input, const Shape& indices) {
  const Dims& offsets = attrs.offset_dims;
  fail_if(!ascending(offsets), "Output window dimensions in gather op must be ascending; got: {}.",
          join(offsets));
  fail_if(!all_unique(offsets), "Output window dimensions in gather op must not repeat; got: {}.",
          join(offsets));
  const auto rank = static_cast<std::int64_t>(offsets.size()) + indices.rank() - 1;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    if (offsets[i] < 0 || offsets[i] >= rank) {
      fail(
          "Offset dimension {} in gather op is out of bounds; got {}, but should have been in "
          "[0,{}).",
          i, offsets[i], rank);
    }
  }
  check_index_map(attrs.start_index_map, indices, attrs.index_vector_dim, input.rank(), "Gather",
                  "start_index_map");
  check_window_dims(attrs.collapsed_slice_dims, input.rank(), "collapsed_slice_dims", "gather");
  check_batching(attrs.operand_batching_dims, attrs.start_indices_batching_dims, input, indices,
                 attrs.index_vector_dim, "Gather");
  check_disjoint(attrs.collapsed_slice_dims, attrs.operand_batching_dims, "Gather");
  check_slice_sizes(attrs, input);
}

// Checks one operand of scatter with its updates.
void check_updates(const ScatterAttrs& attrs, const Shape& operand, const Shape& indices,
                   const Shape& updates) {
  const auto rank = indices.rank() - 1 + static_cast<std::int64_t>(attrs.update_window_dims.size());
  fail_if(updates.rank() != rank, "Updates tensor must be of rank {}; got {}.", rank,
          updates.rank());
  check_window_dims(attrs.update_window_dims, updates.rank(), "update_window_dims", "scatter");
  check_window_dims(attrs.inserted_window_dims, operand.rank(), "inserted_window_dims", "scatter");
  check_batching(attrs.input_batching_dims, attrs.scatter_indices_batching_dims, operand, indices,
                 attrs.index_vector_dim, "Scatter");
  check_disjoint(attrs.inserted_window_dims, attrs.input_batching_dims, "Scatter");
  const std::size_t window = attrs.update_window_dims.size() + attrs.inserted_window_dims.size() +
                             attrs.input_batching_dims.size();
  fail_if(window != operand.dims.size(),
          "Scatter op has window of size {}; doesn't match operand of rank {}.", window,
          operand.rank());
  check_index_map(attrs.scatter_dims_to_operand_dims, indices, attrs.index_vector_dim,
                  operand.rank(), "Scatter", "scatter_dims_to_operand_dims");
}

void check_update_sizes(const ScatterAttrs& attrs, const Shape& operand, const Shape& indices,
                        const Shape& updates) {
  std::size_t window = 0;
  for (int i = 0; i < operand.rank(); ++i) {
    if (contains(attrs.inserted_window_dims, i) || contains(attrs.input_batching_dims, i)) continue;
    const auto dim = static_cast<std::size_t>(attrs.update_window_dims[window++]);
    const std::int64_t bound = operand.dims[static_cast<std::size_t>(i)];
    fail_if(updates.dims[dim] > bound,
            "Bounds of the window dimensions of updates must not exceed the bounds of the "
            "corresponding dimensions of operand. For dimension {}, updates bound is {}, operand "
            "bound is {}.",
            dim, updates.dims[dim], bound);
  }
  std::int64_t seen = 0;
  for (int i = 0; i < updates.rank(); ++i) {
    if (contains(attrs.update_window_dims, i)) continue;
    if (seen == attrs.index_vector_dim) ++seen;
    const std::int64_t bound = indices.dims[static_cast<std::size_t>(seen++)];
    fail_if(updates.dims[static_cast<std::size_t>(i)] != bound,
            "Bounds of the scatter dimensions of updates must be same as the bounds of the "
            "corresponding dimensions of scatter indices. For scatter dimension {}, updates bound "
            "is {}, scatter_indices bound is {}.",
            i, updates.dims[static_cast<std::size_t>(i)], bound);
  }
}

}  // namespace

Shape gather(const Site& site) {
  const Shape& input = site.operand(0);
  const GatherAttrs& attrs = site.attrs<GatherAttrs>();
  expect_array(input, "input tensor operand of gather op");
  expect_array(site.operand(1), "gather indices operand of gather op");
  fail_if(!is_integer(site.operand(1).dtype),
          "Gather indices parameter must be an integral tensor; got {}.", human(site.operand(1)));
  const Shape indices = expanded_indices(site.operand(1), attrs.index_vector_dim, "Gather");
  check_gather(attrs, input, indices);
  Shape result;
  result.dtype = input.dtype;
  int window = 0;
  int batch = 0;
  const auto rank = static_cast<std::int64_t>(attrs.offset_dims.size()) + indices.rank() - 1;
  for (std::int64_t i = 0; i < rank; ++i) {
    if (!contains(attrs.offset_dims, i)) {
      if (batch == attrs.index_vector_dim) ++batch;
      append_dim(result, indices, batch++);
      continue;
    }
    while (contains(attrs.collapsed_slice_dims, window) ||
           contains(attrs.operand_batching_dims, window)) {
      ++window;
    }
    append_dim(result, input, window);
    result.dims.back() = attrs.slice_sizes[static_cast<std::size_t>(window)];
    ++window;
  }
  return result;
}

Shape scatter(const Site& site) {
  const std::size_t operands = site.count() / 2;
  fail_if(operands * 2 + 1 != site.count() || operands == 0,
          "Invalid argument count of scatter op: Expected {}, saw {}", operands * 2 + 1,
          site.count());
  const ScatterAttrs& attrs = site.attrs<ScatterAttrs>();
  const Shape& given = site.operand(operands);
  expect_array(given, "scatter indices of scatter op");
  fail_if(!is_integer(given.dtype), "Scatter indices parameter must be an integral tensor; got {}.",
          human(given));
  const Shape indices = expanded_indices(given, attrs.index_vector_dim, "Scatter");
  std::vector<Shape> init_scalars;
  std::vector<DType> types;
  std::vector<Shape> results;
  for (std::size_t i = 0; i < operands; ++i) {
    const Shape& operand = site.operand(i);
    const Shape& updates = site.operand(operands + 1 + i);
    expect_array(operand, "operand of scatter op");
    expect_array(updates, "updates of scatter op");
    check_updates(attrs, operand, indices, updates);
    check_update_sizes(attrs, operand, indices, updates);
    init_scalars.push_back(Shape::array(operand.dtype, {}));
    types.push_back(updates.dtype);
    results.push_back(array_like(operand, operand.dtype));
  }
  std::vector<const Shape*> init_values;
  for (const Shape& scalar : init_scalars) init_values.push_back(&scalar);
  check_reducer(site.callee(0), init_values, types);
  return results.size() == 1 ? results[0] : Shape::tuple(std::move(results));
}

}  // namespace tilecast::ir::infer
