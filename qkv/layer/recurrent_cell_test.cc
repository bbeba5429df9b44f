#include "qkv/layer/recurrent_cell.h"

#include "qkv/layer/gru.h"
#include "qkv/layer/lstm.h"
#include "qkv/layer/recurrent_test.h"

namespace qkv::recurrent_cell_test {

using namespace test;

TEST(Gru, AStepMovesTheStateByResetAndUpdateGates) {
  Gru cell(3, 4);
  randomise(cell, 1);
  check_layer(
      cell, {random_tensor({2, 3}, 1), random_tensor({2, 4}, 2)},
      [&](const Variables& v) { return cell.step(v[0], v[1]); },
      [](const Doubles& v, const LayerNumbers& p) {
        return joined(p.gru("", row_of(v[0], 0, 3), row_of(v[1], 0, 4)),
                      p.gru("", row_of(v[0], 1, 3), row_of(v[1], 1, 4)));
      });
}

TEST(Lstm, AStepMovesStateAndMemoryByInputForgetAndOutputGates) {
  Lstm cell(3, 4);
  randomise(cell, 2);
  check_layer(
      cell, {random_tensor({2, 3}, 1), random_tensor({2, 8}, 2)},
      [&](const Variables& v) { return cell.step(v[0], v[1]); },
      [](const Doubles& v, const LayerNumbers& p) {
        return joined(p.lstm("", row_of(v[0], 0, 3), row_of(v[1], 0, 8)),
                      p.lstm("", row_of(v[0], 1, 3), row_of(v[1], 1, 8)));
      });
}

TEST(RecurrentCell, OutputIsTheFirstPartOfItsState) {
  const Tensor state = random_tensor({2, 3, 8}, 1);
  EXPECT_TRUE(same_bits(Lstm(3, 4).output(state).value(), state.slice(2, 0, 4)));
  EXPECT_TRUE(same_bits(Gru(3, 8).output(state).value(), state));
}

TEST(RecurrentCell, NamesAndCountsItsParameters) {
  for (const CellKind kind : {CellKind::gru, CellKind::lstm}) {
    const auto cell = make_cell(kind, 3, {4, "C"});
    const int64_t gates = kind == CellKind::gru ? 3 : 4;
    EXPECT_EQ(names_of(*cell, "cell"), (std::vector<std::string>{"cell.input.weight", "cell.input.bias",
                                                                 "cell.hidden.weight", "cell.hidden.bias"}));
    EXPECT_EQ(cell->parameter_count(), gates * 4 * (3 + 4 + 2));
    EXPECT_EQ(cell->hidden.weight.shape(), (Shape{gates * 4, 4}));
    EXPECT_EQ(cell->input.bias.formula(), kind == CellKind::gru ? "(3 C)" : "(4 C)");
    EXPECT_EQ(cell->width(), 4);
  }
}

TEST(Lstm, BeginsByRemembering) {
  Lstm cell(3, 2);
  cell.initialise("cell", 1);
  EXPECT_TRUE(same_bits(cell.input.bias.value(), Tensor::from({0, 0, 1, 1, 0, 0, 0, 0}, {8})));
  EXPECT_TRUE(same_bits(cell.hidden.bias.value(), Tensor::zeros({8})));
}

TEST(RecurrentCell, SaysWhatIsWrong) {
  EXPECT_EQ(error_of([] {
              Gru(3, 4).step(Tensor::zeros({1, 2, 3}), Tensor::zeros({2, 4}));
            }),
            "RecurrentCell::step: x must be (R,I), got (1, 2, 3)");
  EXPECT_EQ(error_of([] {
              Lstm(3, 4).step(Tensor::zeros({2, 3}), Tensor::zeros({2, 4}));
            }),
            "lstm: the initial state must be (B 2, 8), got (2, 4)");
}

}  // namespace qkv::recurrent_cell_test
