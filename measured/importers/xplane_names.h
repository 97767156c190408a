// What the numbers in the events of a profile stand for: names and stats are in tables of their
// plane, which may follow the events, so they are read first.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "measured/importers/proto_stream.h"
#include "measured/importers/xplane.pb.h"

namespace tilecast::measured {

// Fields of XSpace, XPlane and XLine (name: of both).
namespace xplane_field {
inline constexpr int kPlanes = 1, kName = 2, kLines = 3, kEvents = 4, kEventNames = 4,
                     kStatNames = 5, kStats = 6;
}

// Texts by number; 0 is the empty one.
class TextPool {
 public:
  std::uint32_t add(std::string_view text);
  [[nodiscard]] const std::string& at(std::uint32_t id) const { return texts_[id]; }

 private:
  std::deque<std::string> texts_{std::string()};
  std::unordered_map<std::string_view, std::uint32_t> ids_{{std::string_view(), 0}};
};

// The stats that are read, in the order of kStatNames.
enum class XplaneStat {
  kInstruction,
  kModule,
  kProgram,
  kCategory,
  kFlops,
  kModelFlops,
  kBytesAccessed,
  kDeviceOffset,
  kDeviceDuration
};

// What all events of one metadata entry share.
struct XplaneEventKind {
  std::uint32_t name =
      0;  // of the instruction ("%fusion.3 = f32[] ..." is fusion.3), else as given
  std::uint32_t category = 0;
  std::optional<std::uint64_t> program;
  std::optional<double> flops, model_flops, bytes_accessed;
};

struct XplanePlane {
  std::string name;
  bool is_device = false, is_sparse_core = false, has_streams = false;
  bool names_programs = false;  // some entry of `events` says which program it is of
  std::unordered_map<std::int64_t, XplaneStat> stats;  // those read
  std::unordered_map<std::int64_t, std::uint32_t>
      texts;  // names of all stats: values refer to them
  std::unordered_map<std::int64_t, std::uint32_t> events;  // metadata id -> into kinds
};

// A module of the metadata plane: XLA's number for it, and its name.
using XplaneProgram = std::pair<std::uint64_t, std::string>;

struct XplaneNames {
  TextPool texts;
  std::vector<XplaneEventKind> kinds;  // distinct ones
  std::map<XplaneProgram, std::string> protos;
  std::map<std::string, std::string> device_facts;  // of the first device plane with any

  // The planes of one file, in its order: two passes.
  [[nodiscard]] std::vector<XplanePlane> read(const std::string& path);

  // The module of this number and name (0, empty: not known); nothing where none is meant for sure.
  [[nodiscard]] const std::pair<const XplaneProgram, std::string>* find(
      const XplaneProgram& program) const;

  // The stat as text or number, whichever the file has; nothing where it is neither.
  [[nodiscard]] std::uint32_t text(const xplane::Stat& stat, const XplanePlane& plane);
  [[nodiscard]] static std::optional<double> number(const xplane::Stat& stat);
  [[nodiscard]] static std::uint64_t id(const xplane::Stat& stat);

 private:
  void read_stat_names(ProtoFields& fields, XplanePlane& plane);
  void read_event_names(ProtoFields& fields, XplanePlane& plane);
  void add_event(const xplane::EventName& entry, XplanePlane& plane);
  void add_program(const xplane::EventName& entry);

  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, std::uint32_t> known_kinds_;
};

// "jit_f(5)": {5, jit_f}; without a number, `otherwise`.
[[nodiscard]] XplaneProgram program_of_name(std::string_view name, std::uint64_t otherwise);

}  // namespace tilecast::measured
