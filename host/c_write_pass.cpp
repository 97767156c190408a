#include "host/c_write_pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "host/c_types.h"

namespace tilecast::host {
namespace {

constexpr unsigned kFirstTile = 31;  // bit in a mask of tile loops that advanced

class PassWriter {
 public:
  PassWriter(Pass& pass, Writer& out) : pass_(pass), out_(out) {
    for (const PassLoop& loop : pass.loops()) tiles_ *= loop.tile.trips();
  }

  void write() {
    out_.open("");
    if (tiles_ == 1) {
      write_single();
    } else {
      write_many();
    }
    out_.close();
  }

 private:
  [[nodiscard]] bool twice(const Stage& stage) const {
    return tiles_ > 1 && stage.is_load && stage.loops != 0;
  }

  void write_buffers(bool loading) {
    for (std::size_t i = 0; i < pass_.stages().size(); ++i) {
      const Stage& stage = pass_.stages()[i];
      if (stage.buffer.empty() || (loading && !stage.is_load)) continue;
      std::string offset = std::to_string(stage.offset);
      if (twice(stage)) {
        const std::int64_t bytes = (stage.elements * bytes_of(stage.type) + 63) / 64 * 64;
        offset += fmt::format(" + {}{}*{}", loading ? "w" : "r", i, bytes);
      }
      out_.line(
          fmt::format("{0}* const {1} = ({0}*)(scratch + {2});", stage.type, stage.buffer, offset));
    }
  }

  // Writes the position of the tile; `from` is the prefix of the counters.
  void write_position(char from) {
    for (const PassLoop& loop : pass_.loops()) {
      const std::string& name = pass_.symbols().name(loop.symbol);
      out_.line(tiles_ == 1 ? fmt::format("const int64_t {} = 0;", name)
                            : fmt::format("const int64_t {} = {}{};", name, from, loop.loop));
      if (!loop.tile.ragged()) continue;
      out_.line(fmt::format("const int64_t {} = tc_smaller({}, {} - {}*{});",
                            pass_.symbols().text(loop.size), loop.tile.step, loop.tile.size, name,
                            loop.tile.step));
    }
    for (const std::string& line : pass_.definitions()) out_.line(line);
  }

  void write_code(const Stage& stage) { out_.text(stage.code); }

  void write_single() {
    write_position(' ');
    write_buffers(/*loading=*/false);
    for (const Stage& stage : pass_.stages()) {
      if (stage.is_load) write_code(stage);
    }
    for (const Stage& stage : pass_.stages()) {
      if (!stage.is_load) write_code(stage);
    }
  }

  void write_loads() {
    for (std::size_t i = 0; i < pass_.stages().size(); ++i) {
      if (twice(pass_.stages()[i])) out_.line(fmt::format("r{0} = w{0};", i));
    }
    out_.open(fmt::format("if (n < {})", tiles_));
    write_position('n');
    for (std::size_t i = 0; i < pass_.stages().size(); ++i) {
      const Stage& stage = pass_.stages()[i];
      if (twice(stage)) {
        out_.line(fmt::format("if (ahead & {}u) w{} ^= 1;", mask(stage), i));
      }
    }
    write_buffers(/*loading=*/true);
    for (const Stage& stage : pass_.stages()) {
      if (!stage.is_load) continue;
      out_.open(fmt::format("if (ahead & {}u)", mask(stage)));
      write_code(stage);
      out_.close();
    }
    out_.close();
  }

  [[nodiscard]] static std::uint32_t mask(const Stage& stage) {
    return stage.loops | 1U << kFirstTile;
  }

  void write_compute() {
    out_.open("if (n > 0)");
    write_position('c');
    write_buffers(/*loading=*/false);
    for (const std::uint32_t late : late_sets()) {
      if (late == 0) {
        write_stages(0, "now");
        continue;
      }
      std::string last;
      for (const PassLoop& loop : pass_.loops()) {
        if ((late >> loop.loop & 1U) == 0) continue;
        last += fmt::format("{}c{} == {}", last.empty() ? "" : " && ", loop.loop,
                            loop.tile.trips() - 1);
      }
      out_.line(fmt::format("late{} |= now;", late));
      out_.open(fmt::format("if ({})", last));
      write_stages(late, fmt::format("late{}", late));
      out_.line(fmt::format("late{} = 0;", late));
      out_.close();
    }
    out_.close();
  }

  // The distinct sets of loops that must be at their last piece, smallest first.
  [[nodiscard]] std::vector<std::uint32_t> late_sets() const {
    std::vector<std::uint32_t> sets{0};
    for (const Stage& stage : pass_.stages()) {
      if (std::find(sets.begin(), sets.end(), stage.late) == sets.end()) {
        sets.push_back(stage.late);
      }
    }
    std::stable_sort(sets.begin(), sets.end(), [](std::uint32_t a, std::uint32_t b) {
      return std::popcount(a) < std::popcount(b);
    });
    return sets;
  }

  // Writes the stages that depend on loops in `changed`, which advanced since they last ran.
  void write_stages(std::uint32_t late, const std::string& changed) {
    for (const Stage& stage : pass_.stages()) {
      if (stage.is_load || stage.late != late) continue;
      out_.open(fmt::format("if ({} & {}u)", changed, mask(stage)));
      write_code(stage);
      out_.close();
    }
  }

  // Advances to the next tile, innermost loop first.
  void write_advance() {
    const std::vector<PassLoop>& loops = pass_.loops();
    for (const PassLoop& loop : loops) out_.line(fmt::format("c{0} = n{0};", loop.loop));
    out_.line("now = ahead;");
    out_.line("ahead = 0;");
    for (std::size_t i = loops.size(); i-- > 0;) {
      out_.line(fmt::format("ahead |= {}u;", 1U << loops[i].loop));
      out_.open(fmt::format("if (++n{} == {})", loops[i].loop, loops[i].tile.trips()));
      out_.line(fmt::format("n{} = 0;", loops[i].loop));
    }
    for (std::size_t i = 0; i < loops.size(); ++i) out_.close();
  }

  void write_many() {
    for (const PassLoop& loop : pass_.loops()) {
      out_.line(fmt::format("int64_t n{0} = 0, c{0} = 0;", loop.loop));
    }
    for (std::size_t i = 0; i < pass_.stages().size(); ++i) {
      if (twice(pass_.stages()[i])) out_.line(fmt::format("int64_t r{0} = 0, w{0} = 0;", i));
    }
    out_.line(fmt::format("uint32_t ahead = {}u, now = 0;", 1U << kFirstTile));
    for (const std::uint32_t late : late_sets()) {
      if (late != 0) out_.line(fmt::format("uint32_t late{} = 0;", late));
    }
    out_.open(fmt::format("for (int64_t n = 0; n <= {}; ++n)", tiles_));
    write_loads();
    write_compute();
    write_advance();
    out_.close();
  }

  Pass& pass_;
  Writer& out_;
  std::int64_t tiles_ = 1;
};

}  // namespace

void write_pass(Pass& pass, Writer& out) {
  PassWriter(pass, out).write();
}

}  // namespace tilecast::host
