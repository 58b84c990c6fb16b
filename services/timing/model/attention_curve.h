// Rate of attention over sequence length, from a few published points: operations and a cost of
// every row add up, so that one over the rate is a straight line in one over the length.
#pragma once

#include <string>
#include <vector>

namespace eidolon::timing::model {

struct AttentionPoint {
  double length = 0;
  double rate = 0;  // Operations per second.
};

// One row of data/attention_table.csv.
struct PublishedAttention {
  std::string implementation;
  int head_size = 0;
  bool causal = false;
  AttentionPoint point;
  std::string gpu;  // Name of its model.
};

std::vector<PublishedAttention> PublishedAttentionRates();

// Immutable.
class AttentionCurve {
 public:
  // Requires: two points of different length at least.
  explicit AttentionCurve(std::vector<AttentionPoint> points);

  // Operations per second. What the line leaves over is interpolated on log2 of the length, and
  // kept as it is past the ends.
  double Rate(double length) const;

 private:
  double Line(double length) const;

  double per_operation_ = 0;            // Seconds per operation of a very long row.
  double per_row_ = 0;                  // Seconds per operation, times the length.
  std::vector<AttentionPoint> points_;  // By rising length.
};

}  // namespace eidolon::timing::model
