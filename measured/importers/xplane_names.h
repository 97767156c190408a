// Resolves the ids in the events of a profile. The tables of names and stats of a plane may follow
// its events, so they are read in a first pass.
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

// Field numbers of XSpace, XPlane and XLine (kName: of XPlane and XLine).
namespace xplane_field {
inline constexpr int kPlanes = 1, kName = 2, kLines = 3, kEvents = 4, kEventNames = 4,
                     kStatNames = 5, kStats = 6;
}

// Interned texts by number; 0 is the empty text.
class TextPool {
 public:
  std::uint32_t add(std::string_view text);
  [[nodiscard]] const std::string& at(std::uint32_t id) const { return texts_[id]; }

 private:
  std::deque<std::string> texts_{std::string()};
  std::unordered_map<std::string_view, std::uint32_t> ids_{{std::string_view(), 0}};
};

// The stats that are used, in the order of kStatNames.
enum class XplaneStat {
  kInstruction,
  kModule,
  kProgram,
  kCategory,
  kFlops,
  kModelFlops,
  kBytesAccessed,
  kDeviceOffset,
  kDeviceDuration,
  kScope,        // of one execution of an instruction
  kCorrelation,  // of one launch, of a kernel or a graph
  kGraph,
  kGraphNode,
  kKernelDetails
};

// The data shared by all events of a metadata entry.
struct XplaneEventKind {
  std::uint32_t name = 0;  // of the instruction (fusion.3 of "%fusion.3 = ..."), else as given
  std::uint32_t category = 0;
  std::optional<std::uint64_t> program;
  std::optional<double> flops, model_flops, bytes_accessed;
};

struct XplanePlane {
  std::string name;
  bool is_device = false, is_sparse_core = false, has_streams = false;
  bool is_processor = false;                           // of the host, whose events XLA:CPU names
  bool names_programs = false;                         // some entry of `events` names its program
  std::unordered_map<std::int64_t, XplaneStat> stats;  // those used
  std::unordered_map<std::int64_t, std::uint32_t> texts;   // names of all stats
  std::unordered_map<std::int64_t, std::uint32_t> events;  // metadata id -> index in kinds
};

// A module in the metadata plane: XLA's program id and the name.
using XplaneProgram = std::pair<std::uint64_t, std::string>;

struct XplaneNames {
  TextPool texts;
  std::vector<XplaneEventKind> kinds;  // without duplicates
  std::map<XplaneProgram, std::string> protos;
  std::map<std::string, std::string> device_facts;  // from the first device plane that has any

  // Reads the planes of a file, in file order. Call this before reading events.
  [[nodiscard]] std::vector<XplanePlane> read(const std::string& path);

  // The module with this id and name (0 and empty: unknown); null if there is no unique match.
  [[nodiscard]] const std::pair<const XplaneProgram, std::string>* find(
      const XplaneProgram& program) const;

  // The stat's value as text, number or id, converted if necessary; 0 or nullopt if not possible.
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

// "jit_f(5)" gives {5, jit_f}; `otherwise` is the id if there is no number.
[[nodiscard]] XplaneProgram program_of_name(std::string_view name, std::uint64_t otherwise);

}  // namespace tilecast::measured
