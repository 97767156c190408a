// The code of a kernel that a program brings along: a Pallas kernel for a TPU (a custom call's
// `tpu_custom_call`), read from its Mosaic module. What it moves and computes over all steps of its
// grid; times are of analytical/kernel_body.h.
#pragma once

#include <string>
#include <vector>

#include "ir/op.h"
#include "ir/op_attrs.h"
#include "ir/shape.h"

namespace tilecast::ir {

struct KernelBody {
  // A block of an array that the pipeline around the body brings, or takes away.
  struct Window {
    bool written = false;
    std::size_t array = 0;  // among the call's operands, or its results
    Dims block;             // elements
    // Per loop of the grid: of the steps that advance it, those with another block.
    std::vector<double> moves;
  };
  // An operation on blocks in registers, as the HLO operation that does the same; loads and stores
  // of registers as dynamic-slice and dynamic-update-slice.
  struct Work {
    Opcode opcode = Opcode::kParameter;
    Shape result;
    std::vector<Shape> operands;
    Dims dimensions;
    OpAttrs attrs;
    double times = 0;  // over the whole grid
  };
  // Copies that the body starts itself between main memory and the scratchpad.
  struct Copies {
    double count = 0, read_bytes = 0, written_bytes = 0;
  };

  Dims grid;  // steps, outermost first; empty: one
  std::vector<Window> windows;
  std::vector<Work> work;
  Copies beside, in_turn;  // in_turn: the body waits for them at once
  double flops = 0, transcendentals = 0;
  // Exponentials of a product's results that another product takes.
  struct Scores {
    double count = 0;                   // over the whole grid; 0: no such thing
    double products = 0, compares = 0;  // per block of scores
    Dims block;
    double width = 0;  // of a head: what the product that makes the scores sums over
  };
  Scores scores;
  bool open_grid = false;          // data decide the size of a loop of the grid
  bool by_data = false;            // data decide on branches or loops that hold work
  std::vector<std::string> notes;  // what is assumed or not counted

  [[nodiscard]] double steps() const;
};

}  // namespace tilecast::ir
