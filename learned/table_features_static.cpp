#include "learned/table_features_groups.h"

namespace tilecast::learned {
namespace {

using Rows = std::span<const ColumnRow<KernelScan>>;

constexpr auto kRows = std::to_array<ColumnRow<KernelScan>>({
    column<&KernelScan::flops>(
        "static.flops", "1",
        "Floating-point operations as XLA's cost analysis counts them, a multiply-add as two."),
    column<&KernelScan::bytes_read>(
        "static.bytes_read", "B",
        "Bytes of operands the kernel accesses, by XLA's rules and without padding."),
    column<&KernelScan::bytes_written>("static.bytes_written", "B",
                                       "Bytes of results, without padding."),
    column<&KernelScan::transcendentals>(
        "static.transcendentals", "1",
        "Elements of exponentials, logarithms and the like, as XLA counts them."),
});

}  // namespace

void static_columns(std::vector<FeatureColumn>& columns) {
  append_columns(Rows(kRows), FeatureGroup::kStatic, columns);
}

std::size_t write_static(const KernelScan& scan, std::span<float> out) {
  return write_columns(Rows(kRows), scan, out);
}

}  // namespace tilecast::learned
