// Profiles built event by event, for tests of the reader.
//
//   ProfileOnDisk profile;
//   Plane device = profile.plane("/device:TPU:0");
//   device.line("XLA Ops");
//   device.op("fusion.1", 5, 0, 100);  // program 5, start 0 ps, duration 100 ps
//   XplaneProfile read = read_xplane({profile.write()}, {});
#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "measured/importers/xplane.pb.h"
#include "tests/measured/set_on_disk.h"

namespace tilecast::measured {

struct Ref {
  std::string text;  // a stat whose value is the name of another stat
};
using StatValue = std::variant<double, std::uint64_t, std::string, Ref>;
using StatValues = std::vector<std::pair<std::string, StatValue>>;

class Plane {
 public:
  Plane(xplane::XSpace& space, const std::string& name);

  void fact(const std::string& name, const StatValue& value);
  void line(const std::string& name);
  // An event on the last line; `of_all`: stats of its metadata entry.
  xplane::Event& event(const std::string& name, std::int64_t start_ps, std::int64_t duration_ps,
                       const StatValues& stats = {}, const StatValues& of_all = {});
  xplane::Event& op(const std::string& instruction, std::uint64_t program, std::int64_t start_ps,
                    std::int64_t duration_ps);
  xplane::Event& kernel(const std::string& name, const std::string& instruction,
                        std::uint64_t program, std::int64_t start_ps, std::int64_t duration_ps);
  // An entry of the metadata plane.
  void module(std::int64_t key, const std::string& name, const std::string& proto);

 private:
  std::int64_t stat_id(const std::string& name);
  void set(xplane::Stat& stat, const std::string& name, const StatValue& value);

  xplane::XPlane* plane_;
  xplane::XLine* line_ = nullptr;
  std::map<std::string, std::int64_t> events_, stats_;
};

class ProfileOnDisk {
 public:
  [[nodiscard]] Plane plane(const std::string& name) { return {space_, name}; }
  // The plane of a core, on its line of ops.
  [[nodiscard]] Plane core() {
    Plane core = plane("/device:TPU:0");
    core.line("XLA Ops");
    return core;
  }
  [[nodiscard]] std::string bytes() const { return space_.SerializeAsString(); }
  // Returns the file's path.
  std::string write(const std::string& file = "host.xplane.pb") const;
  [[nodiscard]] std::string at(const std::string& file) const {
    return folder_.path() + "/" + file;
  }
  [[nodiscard]] const SetOnDisk& folder() const { return folder_; }

 private:
  xplane::XSpace space_;
  SetOnDisk folder_;
};

// A module `jit_f`: f32[elements] p, tanh.1 of it, copy-start.2 and copy-done.2 of that.
[[nodiscard]] std::string module_proto(const std::string& name, std::int64_t elements = 1024);

}  // namespace tilecast::measured
