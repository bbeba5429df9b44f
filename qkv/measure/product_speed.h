// How fast products x W^T are with weights in a number format, with all threads.
//
//     const ProductSpeed speed = measure_products(WeightFormat::q4_k);
//     speed.gb_per_s                  // of weights, with one row of x: what generating a token for one text takes
//     speed.gflops                    // with many rows: prompts and batches
//
// The matrices are (2048, 4096) with random numbers, for one row as many as exceed the caches. Errors: none.
#pragma once

#include "qkv/kernel/weight_format.h"

namespace qkv {

struct ProductSpeed {
  double gb_per_s = 0, gflops = 0;
};

ProductSpeed measure_products(WeightFormat format);

}  // namespace qkv
