#include "learned/torch/segments.h"

#include <algorithm>
#include <numeric>

namespace tilecast::learned::torch_module {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

std::int64_t* data(const Tensor& indices) {
  return indices.data_ptr<std::int64_t>();
}

struct Range {
  std::int64_t begin, end;
};
Range segment(const std::int64_t* offsets, std::int64_t s) {
  return {offsets[s], offsets[s + 1]};
}

// Sums, or means if `mean`.
template <class Real>
void add_rows(const Tensor& rows, const Segments& segments, bool mean, Tensor& out) {
  const std::int64_t width = rows.size(1);
  const Real* from = rows.data_ptr<Real>();
  const std::int64_t* sources = data(segments.sources);
  for (std::int64_t s = 0; s < segments.count(); ++s) {
    const Range range = segment(data(segments.offsets), s);
    Real* to = out.data_ptr<Real>() + s * width;
    for (std::int64_t e = range.begin; e < range.end; ++e) {
      const Real* row = from + sources[e] * width;
      for (std::int64_t w = 0; w < width; ++w) to[w] += row[w];
    }
    if (!mean || range.end - range.begin < 2) continue;
    const Real scale = Real(1) / static_cast<Real>(range.end - range.begin);
    for (std::int64_t w = 0; w < width; ++w) to[w] *= scale;
  }
}

template <class Real>
void add_back(const Tensor& gradient, const Segments& segments, bool mean, Tensor& out) {
  const std::int64_t width = gradient.size(1);
  const std::int64_t* sources = data(segments.sources);
  for (std::int64_t s = 0; s < segments.count(); ++s) {
    const Range range = segment(data(segments.offsets), s);
    const Real* from = gradient.data_ptr<Real>() + s * width;
    const Real scale = mean ? Real(1) / static_cast<Real>(range.end - range.begin) : Real(1);
    for (std::int64_t e = range.begin; e < range.end; ++e) {
      Real* row = out.data_ptr<Real>() + sources[e] * width;
      for (std::int64_t w = 0; w < width; ++w) row[w] += scale * from[w];
    }
  }
}

// `row_of`: the row of each maximum, -1 in empty segments.
template <class Real>
void take_maxima(const Tensor& rows, const Segments& segments, Tensor& out, Tensor& row_of) {
  const std::int64_t width = rows.size(1);
  const Real* from = rows.data_ptr<Real>();
  const std::int64_t* sources = data(segments.sources);
  for (std::int64_t s = 0; s < segments.count(); ++s) {
    const Range range = segment(data(segments.offsets), s);
    Real* to = out.data_ptr<Real>() + s * width;
    std::int64_t* best = data(row_of) + s * width;
    for (std::int64_t e = range.begin; e < range.end; ++e) {
      const Real* row = from + sources[e] * width;
      for (std::int64_t w = 0; w < width; ++w) {
        if (e != range.begin && !(row[w] > to[w])) continue;
        to[w] = row[w];
        best[w] = sources[e];
      }
    }
  }
}

template <class Real>
void maxima_back(const Tensor& gradient, const Tensor& row_of, Tensor& out) {
  const std::int64_t width = gradient.size(1);
  const Real* from = gradient.data_ptr<Real>();
  const std::int64_t* best = data(row_of);
  Real* to = out.data_ptr<Real>();
  for (std::int64_t i = 0; i < gradient.numel(); ++i) {
    if (best[i] >= 0) to[best[i] * width + i % width] += from[i];
  }
}

struct SumRows : torch::autograd::Function<SumRows> {
  static Tensor forward(AutogradContext* context, const Tensor& rows, const Tensor& sources,
                        const Tensor& offsets, bool mean) {
    const Segments segments{sources, offsets};
    Tensor out = torch::zeros({segments.count(), rows.size(1)}, rows.options());
    const Tensor dense = rows.contiguous();
    AT_DISPATCH_FLOATING_TYPES(dense.scalar_type(), "reduce",
                               [&] { add_rows<scalar_t>(dense, segments, mean, out); });
    context->save_for_backward({sources, offsets});
    context->saved_data["mean"] = mean;
    context->saved_data["rows"] = rows.size(0);
    return out;
  }

  static tensor_list backward(AutogradContext* context, tensor_list gradients) {
    const tensor_list saved = context->get_saved_variables();
    const Segments segments{saved[0], saved[1]};
    const Tensor gradient = gradients[0].contiguous();
    const bool mean = context->saved_data["mean"].toBool();
    Tensor out =
        torch::zeros({context->saved_data["rows"].toInt(), gradient.size(1)}, gradient.options());
    AT_DISPATCH_FLOATING_TYPES(gradient.scalar_type(), "reduce",
                               [&] { add_back<scalar_t>(gradient, segments, mean, out); });
    return {out, Tensor(), Tensor(), Tensor()};
  }
};

struct MaxRows : torch::autograd::Function<MaxRows> {
  static Tensor forward(AutogradContext* context, const Tensor& rows, const Tensor& sources,
                        const Tensor& offsets) {
    const Segments segments{sources, offsets};
    Tensor out = torch::zeros({segments.count(), rows.size(1)}, rows.options());
    Tensor row_of = torch::full({segments.count(), rows.size(1)}, -1, torch::kInt64);
    const Tensor dense = rows.contiguous();
    AT_DISPATCH_FLOATING_TYPES(dense.scalar_type(), "reduce",
                               [&] { take_maxima<scalar_t>(dense, segments, out, row_of); });
    context->save_for_backward({row_of});
    context->saved_data["rows"] = rows.size(0);
    return out;
  }

  static tensor_list backward(AutogradContext* context, tensor_list gradients) {
    const Tensor row_of = context->get_saved_variables()[0];
    const Tensor gradient = gradients[0].contiguous();
    Tensor out =
        torch::zeros({context->saved_data["rows"].toInt(), gradient.size(1)}, gradient.options());
    AT_DISPATCH_FLOATING_TYPES(gradient.scalar_type(), "reduce",
                               [&] { maxima_back<scalar_t>(gradient, row_of, out); });
    return {out, Tensor(), Tensor()};
  }
};

Segments consecutive(const Tensor& offsets) {
  return {torch::arange(offsets[-1].item<std::int64_t>(), torch::kInt64), offsets};
}

}  // namespace

Tensor Segments::targets() const {
  Tensor targets = torch::empty_like(sources);
  for (std::int64_t s = 0; s < count(); ++s) {
    const Range range = segment(data(offsets), s);
    std::fill(data(targets) + range.begin, data(targets) + range.end, s);
  }
  return targets;
}

Segments Segments::in_order() const {
  return consecutive(offsets);
}

Segments make_segments(const Tensor& sources, const Tensor& targets, std::int64_t count,
                       std::int64_t limit) {
  Tensor offsets = torch::zeros({count + 1}, torch::kInt64);
  for (std::int64_t e = 0; e < targets.size(0); ++e) ++data(offsets)[data(targets)[e] + 1];
  for (std::int64_t s = 0; s < count; ++s) {
    data(offsets)[s + 1] = data(offsets)[s] + std::min(data(offsets)[s + 1], limit);
  }
  const std::int64_t* begin = data(offsets);
  std::vector<std::int64_t> next(begin, begin + count);
  Tensor kept = torch::empty({begin[count]}, torch::kInt64);
  for (std::int64_t e = 0; e < targets.size(0); ++e) {
    const std::int64_t target = data(targets)[e];
    std::int64_t& slot = next[static_cast<std::size_t>(target)];
    if (slot < begin[target + 1]) data(kept)[slot++] = data(sources)[e];
  }
  return {kept, offsets};
}

Segments make_segments(const std::vector<std::int64_t>& lengths) {
  Tensor offsets = torch::zeros({static_cast<std::int64_t>(lengths.size()) + 1}, torch::kInt64);
  std::partial_sum(lengths.begin(), lengths.end(), data(offsets) + 1);
  return consecutive(offsets);
}

Segments join(const Segments& a, const Segments& b) {
  Tensor sources = torch::empty({a.sources.size(0) + b.sources.size(0)}, torch::kInt64);
  std::int64_t* to = data(sources);
  for (std::int64_t s = 0; s < a.count(); ++s) {
    for (const Segments* each : {&a, &b}) {
      const Range range = segment(data(each->offsets), s);
      to = std::copy(data(each->sources) + range.begin, data(each->sources) + range.end, to);
    }
  }
  return {sources, a.offsets + b.offsets};
}

Tensor reduce(const Tensor& rows, const Segments& segments, Aggregate how) {
  if (how == Aggregate::kMax) return MaxRows::apply(rows, segments.sources, segments.offsets);
  return SumRows::apply(rows, segments.sources, segments.offsets, how == Aggregate::kMean);
}

Tensor softmax(const Tensor& rows, const Segments& segments) {
  const Segments in_order = segments.in_order();
  const Tensor targets = segments.targets();
  const Tensor highest = reduce(rows.detach(), in_order, Aggregate::kMax);
  const Tensor powers = (rows - gather(highest, targets)).exp();
  return powers / gather(reduce(powers, in_order, Aggregate::kSum), targets);
}

Tensor gather(const Tensor& rows, const Tensor& index) {
  const Segments one_each{index, torch::arange(index.size(0) + 1, torch::kInt64)};
  return reduce(rows, one_each, Aggregate::kSum);
}

}  // namespace tilecast::learned::torch_module
