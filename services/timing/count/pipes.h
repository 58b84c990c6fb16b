// Knows which pipe executes an operation, how many clocks it takes there, and how long its result
// takes.
#pragma once

#include <cstdint>
#include <optional>

#include "services/machine_code/interpret/program.h"
#include "services/timing/count/counts.h"

namespace eidolon::timing::count {

Pipe PipeOf(const interpret::Step& step);

// Clocks of a multiprocessor for one instruction of a warp: CUDA C++ Programming Guide 13.0,
// "Throughput of Native Arithmetic Instructions", 32 lanes over the results a clock. 0 where the
// guide says nothing: such instructions only take a clock of issuing.
//
// A result of 64 bits takes two turns: on H200 a kernel with 32 multiplications an element, of
// which 20 are wide, takes 101.7 clocks of each scheduler's pipe and has nothing else that takes as
// long (dropout of 64 M, e2e/measured/h200/counters.csv).
double ClocksOf(Pipe pipe, std::uint32_t compute_major, std::uint32_t compute_minor);

// A matrix instruction's multiplications and additions by one warp; type by reference. 0 for
// others. Those of a group of four warps (WGMMA) count for each of them with a quarter of the rows.
double MatrixOperations(const interpret::Step& step, MatrixType* type);

// Returns the multiplications and additions of floating-point numbers that one lane executes; 0 for
// matrix instructions and for others.
double LaneOperations(const interpret::Step& step);

// Where the step has the tensor cores multiply into tensor memory (tcgen05.mma, from 10.0 on): the
// row of uniform registers that holds the instruction's descriptor.
std::optional<unsigned> MatrixDescriptorRow(const interpret::Step& step);
// Returns whether such a step is one block's for a pair of them (2CTA), whose first block issues
// it.
bool IsOfBlockPair(const interpret::Step& step);
// Returns what such a step multiplies and adds for the whole block, or for the pair of blocks that
// share it, by its descriptor (PTX ISA 8.7, instruction descriptor); type by reference.
double DescribedOperations(const interpret::Step& step, std::uint32_t descriptor, MatrixType* type);

// Returns whether the step is the last matrix instruction of a group that warps can wait for
// (gsb0).
bool EndsMatrixGroup(const interpret::Step& step);
// Returns where the step waits until no more than so many groups of matrix instructions are under
// way (WARPGROUP.DEPBAR).
std::optional<unsigned> MatrixGroupsLeft(const interpret::Step& step);

// Returns whether the step says how many bytes the copy engine will bring into shared memory, in
// the register at bits 32 (SYNCS.ARRIVE.TRANS64, mbarrier.arrive.expect_tx).
bool AnnouncesBytes(const interpret::Step& step);

}  // namespace eidolon::timing::count
