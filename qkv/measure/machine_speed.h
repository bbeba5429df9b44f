// What this machine reaches with all threads: the limits that the speed of a model is measured against.
//
//     const MachineSpeed machine = measure_machine();
//     double share = measure_products(WeightFormat::int8).gflops / machine.gflops_of(WeightFormat::int8);
//
// It takes about two seconds, in which nothing else should run.
#pragma once

#include "qkv/kernel/weight_format.h"

namespace qkv {

struct MachineSpeed {
  // GFLOP/s of multiply-adds on numbers in registers, two for each; 0: the processor has no instructions for them.
  double f32 = 0, bf16 = 0, int8 = 0;
  double narrow = 0;  // of bytes and numbers of less than 8 bits
  double memory = 0;  // GB/s of reading memory that no cache holds

  // Of products with weights in this format. bf16 is widened to floats, where a processor has no products of bf16 that give
  // the bits of f32.
  double gflops_of(WeightFormat format) const;
};

MachineSpeed measure_machine();

}  // namespace qkv
