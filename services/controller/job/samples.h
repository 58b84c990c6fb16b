// Derives from its launches how many samples, such as images, a job processes in an iteration.
//
// A classifier of images ends with a linear layer over what is left of each image: its GEMM has a
// row for each of them, forward (rows x inputs to outputs) and back (rows x outputs to inputs).
// Layers between have as many rows, or a multiple: a row for each place of an image. Samples are
// derived where convolutions run, as at the beginning of such models, and at most three layers have
// the fewest rows of all that are trained. Where more have, these are the rows of something else:
// the queries of a detector, the places of a sequence, the steps of a recurrent layer. Passes
// without a backward pass do not count.
//
// Where nothing but linear layers and work on single numbers runs, no row is mixed with another, so
// that rows are samples: all matrix operations have to be GEMMs over as many rows, or gradients of
// weights, which sum over them. Some layer has to run once in the iteration, since equal layers and
// micro-batches look alike. This is for one rank, as several might share a batch.
//
// Other models without convolutions or without a linear layer at their end are not found, nor is
// what ranks share (tensor parallelism): who uses it declares the number.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "services/base/error.h"
#include "services/controller/job/tokens.h"

namespace eidolon::controller::job {

// Kernels that ran in an iteration.
struct RunKernels {
  std::set<std::string> families;  // As estimates name them.
  bool has_batched_gemms = false;  // Each over several matrices.
};

// Returns the samples of the whole job in the first measured iteration; or why that is not known,
// as the end of a sentence.
base::Result<double> DeriveSamples(const std::vector<RankTokens>& ranks, const RunKernels& kernels);

}  // namespace eidolon::controller::job
