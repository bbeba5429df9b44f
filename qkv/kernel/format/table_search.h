// Scales for numbers that are rounded to those of iq4_nl_table (block_layout.h), for IQ4_NL and IQ4_XS: those of the least
// weighted error among a few, as in scale_search.h.
//
//     const float d = table_scale_for(x);                                  // x_i ~ d iq4_nl_table[q_i], of 32 numbers
//     const int q = nearest_in_table(x[0] * inverse_or_zero(d));
#pragma once

namespace qkv {

// The index of the number of the table that is nearest to x.
int nearest_in_table(float x);
// Of 32 numbers. Its sign is that of the fit: the table is not symmetric. 0 for numbers that every format stores as zeros.
float table_scale_for(const float* x);
// The weighted error of 32 numbers with this scale.
float table_error(const float* x, float scale);

}  // namespace qkv
