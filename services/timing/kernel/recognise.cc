// Rules are tried in order and the first that matches wins: the function's own name first, then
// words that may stand anywhere in it. A rule may decline when parameters do not have the layout
// that it knows; the family of the name stays, and sizes come from the grid and the types in the
// signature. A count that no launch of this size could have is taken for a misread layout. So a
// changed PyTorch release makes estimates coarser, not absurd. The families of all kernels of
// libtorch_cuda are pinned by testdata/torch_kernels.csv, which shows what a new rule takes from
// others.
#include "services/timing/kernel/recognise.h"

#include <string_view>
#include <utility>

#include "services/timing/kernel/rules.h"

namespace eidolon::timing::kernel {
namespace {

struct NamedRule {
  std::string_view base;  // The function's own name; with a trailing * a prefix of it.
  Family family;          // When the rule does not find its layout.
  Rule rule;
};

// Rules by function name, the first that matches.
constexpr NamedRule kRules[] = {
    {"vectorized_elementwise_kernel", Family::kElementwise, Vectorized},
    {"unrolled_elementwise_kernel", Family::kElementwise, Unrolled},
    {"elementwise_kernel", Family::kElementwise, Strided},
    {"unrolled_elementwise_kernel_for_multi_outputs", Family::kElementwise, MultiOutput},
    {"elementwise_kernel_with_index", Family::kFill, WithIndex},
    {"index_elementwise_kernel", Family::kIndex, IndexElementwise},
    {"_scatter_gather_elementwise_kernel", Family::kIndex, IndexElementwise},
    {"distribution_elementwise_grid_stride_kernel", Family::kRandom, Distribution},
    {"fused_dropout_kernel*", Family::kRandom, Dropout},
    {"CatArrayBatchedCopy*", Family::kCopy, Cat},
    {"split_with_sizes_copy_out_contiguous*", Family::kCopy, SplitCopy},
    {"chunk_cat_cuda_kernel", Family::kCopy, ChunkCat},
    {"transpose_copy_tiled_kernel", Family::kCopy, TransposeCopy},
    {"reduce_kernel", Family::kReduction, Reduce},
    {"softmax_warp_*", Family::kSoftmax, SoftmaxWarp},
    {"cunn_SoftMax*", Family::kSoftmax, SoftmaxRow},
    {"cunn_SpatialSoftMax*", Family::kSoftmax, SoftmaxSpatial},
    {"vectorized_layer_norm_kernel", Family::kNormalization, NormRows},
    {"layer_norm_grad_input_kernel*", Family::kNormalization, NormRows},
    {"GammaBetaBackward*", Family::kNormalization, NormGammaBeta},
    {"RowwiseMoments*", Family::kNormalization, NormMoments},
    {"ComputeInternalGradients*", Family::kNormalization, NormMoments},
    {"batch_norm_collect_statistics_channels_last_kernel", Family::kNormalization,
     BatchNormChannelsLast},
    {"batch_norm_transform_input_channels_last_kernel", Family::kNormalization,
     BatchNormChannelsLast},
    {"batch_norm_backward_reduce_channels_last_kernel", Family::kNormalization,
     BatchNormChannelsLast},
    {"batch_norm_backward_elemt_channels_last_kernel*", Family::kNormalization,
     BatchNormChannelsLast},
    {"batch_norm_*", Family::kNormalization, BatchNorm},
    {"nll_loss*", Family::kLoss, NllLoss},
    {"multi_tensor_apply_kernel", Family::kForeach, MultiTensor},
    {"lpnorm_cleanup", Family::kReduction, LpNormCleanup},
    {"lpmax_cleanup", Family::kReduction, LpNormCleanup},
    {"vectorized_gather_kernel", Family::kEmbedding, Gather},
    {"vectorized_scatter_kernel", Family::kEmbedding, Gather},
    {"EmbeddingBag_updateOutputKernel_*", Family::kEmbedding, EmbeddingBag},
    {"embedding_backward_feature_kernel", Family::kEmbedding, EmbeddingBackward},
    {"compute_grad_weight", Family::kEmbedding, SegmentedGradient},
    {"sum_and_scatter", Family::kEmbedding, SumAndScatter},
    {"max_pool_forward_nhwc", Family::kPooling, PoolChannelsLast},
    {"max_pool_backward_nhwc", Family::kPooling, PoolChannelsLast},
    {"max_pool_forward_nchw", Family::kPooling, PoolChannelsFirst},
    {"max_pool_backward_nchw", Family::kPooling, PoolBackwardChannelsFirst},
    {"max_pool3d_with_indices_single_out_frame", Family::kPooling, MaxPoolVolumes},
    {"avg_pool3d_cuda_update_output", Family::kPooling, AveragePoolVolumes},
    {"avg_pool2d_out_cuda_frame*", Family::kPooling, AveragePool},
    {"avg_pool2d_backward_out_cuda_frame*", Family::kPooling, AveragePoolBackward},
    {"upsample_nearest2d_out_frame", Family::kResample, Nearest},
    {"upsample_nearest2d_nhwc_out_frame", Family::kResample, Nearest},
    {"upsample_nearest2d_backward_out_frame", Family::kResample, NearestBackward},
    {"upsample_nearest2d_backward_nhwc_out_frame", Family::kResample, NearestBackward},
    {"upsample_bilinear2d_out_frame", Family::kResample, Bilinear},
    {"upsample_bilinear2d_nhwc_out_frame", Family::kResample, Bilinear},
    {"upsample_bilinear2d_backward_out_frame", Family::kResample, BilinearBackward},
    {"upsample_bilinear2d_backward_nhwc_out_frame", Family::kResample, BilinearBackward},
    {"conv_depthwise2d_forward_kernel", Family::kConvolution, DepthwiseForward},
    {"conv_depthwise2d_forward_kernel_generic", Family::kConvolution, DepthwiseForward},
    {"tensor_kernel_scan_innermost_dim", Family::kScan, ScanRows},
    {"tensor_kernel_scan_outer_dim*", Family::kScan, ScanColumns},
    {"indexing_backward_kernel*", Family::kIndex, IndexingBackward},
    {"DeviceRadixSortExclusiveSumKernel", Family::kSort, Bookkeeping},
    {"DeviceScanInitKernel", Family::kScan, Bookkeeping},
    {"DeviceCompactInitKernel", Family::kScan, Bookkeeping},
    {"compute_num_of_partial_segments", Family::kEmbedding, Bookkeeping},
    {"krn_partial_segment_offset", Family::kEmbedding, Bookkeeping},
    {"krn_partials_per_segment", Family::kEmbedding, Bookkeeping},
    {"prepare_grouped_gemm_data", Family::kMisc, EngineBookkeeping},
    {"_assert_async_cuda_kernel", Family::kMisc, SingleCheck},
    {"spin_kernel", Family::kMisc, Spin},
    {"indexSelect*", Family::kIndex, IndexSelect},
    {"indexFunc*", Family::kIndex, IndexFunction},
    {"DeviceScanKernel", Family::kScan, DeviceScan},
    {"DeviceRadixSortOnesweepKernel", Family::kSort, RadixPass},
    {"DeviceRadixSortHistogramKernel", Family::kSort, RadixHistogram},
    {"DeviceSegmentedRadixSortKernel", Family::kSort, SegmentedRadixPass},
    {"radixSortKVInPlace", Family::kSort, BlockRadixSort},
    {"bitonicSortKVInPlace", Family::kSort, BitonicSort},
    {"gatherTopK", Family::kSort, TopKGather},
    {"computeBlockDigitCounts", Family::kSort, TopKDigits},
    {"computeDigitCumSum", Family::kSort, TopKSums},
    {"computeBlockwiseWithinKCounts", Family::kSort, TopKSums},
    {"computeBlockwiseKthCounts", Family::kSort, TopKKth},
    {"fill_reverse_indices_kernel", Family::kFill, FillIndices},
    {"kernelHistogram1D", Family::kSort, Histogram},
    {"flash_fwd_splitkv_combine_kernel", Family::kAttentionForward, FlashCombine},
    {"flash_fwd_*", Family::kAttentionForward, FlashForward},
    {"flash_bwd_dq_dk_dv*", Family::kAttentionBackward, FlashBackward},
    {"flash_bwd_*", Family::kAttentionBackward, FlashPointwise},
    {"fmha_cutlassF_*", Family::kAttentionForward, MemoryEfficientForward},
    {"fmha_cutlassB_*", Family::kAttentionBackward, MemoryEfficientBackward},
    // CuTe DSL's names: kernel_cutlass_, the function, its object and the types of its arguments.
    // It lays out parameters anew for each kernel, so that none are read: their code is counted.
    {"kernel_cutlass_kernel_flash_attncuteflash_fwd*", Family::kAttentionForward, Typed},
    {"kernel_cutlass_kernel_flash_attncuteflash_bwd*", Family::kAttentionBackward, Typed},
    {"kernel_cutlass_kernel_torch_nativeopstopk*", Family::kSort, Typed},
    {"kernel_cutlass_*", Family::kUnknown, Typed},
    {"triton_poi_*", Family::kTriton, TritonInductor},
    {"triton_red_*", Family::kTriton, TritonInductor},
    {"triton_per_*", Family::kTriton, TritonInductor},
    {"triton_mix_*", Family::kTriton, TritonInductor},
    {"triton_tem_*", Family::kTriton, TritonInductor},
    {"triton_flex_attention*", Family::kTriton, TritonInductor},
    {"triton_for_*", Family::kTriton, TritonInductor},
    {"loop_convert_fusion*", Family::kCast, Typed},  // XLA's names.
    {"wrapped_convert*", Family::kCast, Typed},
    {"ln_fwd_*", Family::kNormalization, EngineNorm},
    {"ln_bwd_*", Family::kNormalization, EngineNorm},
    {"rmsnorm_fwd_*", Family::kNormalization, EngineNorm},
    {"rmsnorm_bwd_*", Family::kNormalization, EngineNorm},
    {"unary_kernel", Family::kElementwise, EngineUnary},
    {"unary_grad_kernel", Family::kElementwise, EngineUnary},
    {"gated_act_kernel", Family::kElementwise, EngineGated},
    {"dgated_act_kernel", Family::kElementwise, EngineGated},
    {"cast_transpose_fusion_kernel*", Family::kCast, EngineCastTransposeBias},
    {"cast_transpose_optimized_kernel", Family::kCast, EngineCastTranspose},
    {"cast_transpose_general_kernel", Family::kCast, EngineCastTranspose},
    {"transpose_optimized_kernel", Family::kCopy, EngineTranspose},
    {"transpose_general_kernel", Family::kCopy, EngineTranspose},
    {"reduce_dbias_kernel", Family::kReduction, EngineBiasGradient},
    {"extract_seed_and_offset", Family::kMisc, EngineBookkeeping},
    {"kernel_bulk", Family::kMisc, EngineBookkeeping},
    {"set_float_kernel", Family::kMisc, EngineBookkeeping},
    {"fused_rope_forward_kernel", Family::kElementwise, EngineRope},
    {"fused_rope_backward_kernel", Family::kElementwise, EngineRope},
    {"fused_qkv_rope_*", Family::kElementwise, EngineRopeTogether},
    {"fused_topk_*", Family::kSort, EngineRouter},
    {"amax_kernel", Family::kReduction, EngineAmax},
    {"zero_amax_kernel", Family::kMisc, EngineBookkeeping},
    {"ZeroAmaxKernel", Family::kMisc, EngineBookkeeping},
    {"compute_scale_from_amax_kernel", Family::kMisc, EngineBookkeeping},
    {"compute_nvfp4_per_tensor_scale_kernel", Family::kMisc, EngineBookkeeping},
    {"update_tensor_scale_inv_kernel", Family::kMisc, EngineBookkeeping},
    {"quantize_mxfp8_kernel", Family::kCast, EngineQuantizeMxfp8},
    {"quantize_mxfp8_kernel_cast_only", Family::kCast, EngineCastMxfp8},
    {"quantize_gated_mxfp8_kernel", Family::kCast, EngineQuantizeGated},
    {"cast_fp8_gated_kernel", Family::kCast, EngineQuantizeGated},
    {"cast_fp8_1D_kernel", Family::kCast, EngineCastFp8},
    {"cast_fp8_2D_kernel", Family::kCast, EngineCastFp8},
    {"block_scaled_cast_transpose_kernel*", Family::kCast, EngineBlockScaledSquare},
    {"block_scaled_1d_cast_transpose_kernel", Family::kCast, EngineBlockScaledVector},
    {"quantize_transpose_nvfp4_*", Family::kCast, EngineQuantizeNvfp4},
    {"HadamardAmaxTmaKernel", Family::kReduction, EngineHadamard},
    {"dequantize_mxfp8_kernel", Family::kCast, EngineDequantize},
    {"dequantize_fp4_kernel", Family::kCast, EngineDequantize},
    {"swizzle_row_scaling*", Family::kCopy, EngineSwizzle},
    {"swizzle_col_scaling*", Family::kCopy, EngineSwizzle},
};

struct Word {
  std::string_view text;  // Anywhere in the demangled name.
  Family family;
  Rule rule;
};

// Families of the remaining kernels by a word in the name, the first that occurs.
constexpr Word kWords[] = {
    {"rht_gemm_device", Family::kCast, EngineHadamard},
    {"multi_tensor_l2norm::cleanup", Family::kReduction, EngineBookkeeping},
    {"cub::detail::radix_sort", Family::kSort, Sort},
    {"cub::detail::scan", Family::kScan, Sort},
    {"cub::", Family::kSort, Sort},
    {"thrust::", Family::kSort, Sort},
    {"radixSort", Family::kSort, Sort},
    {"SortKVInPlace", Family::kSort, Sort},
    {"topk::", Family::kSort, Sort},
    {"randperm", Family::kSort, Sort},
    {"sort_postprocess", Family::kSort, Sort},
    {"gatherMedian", Family::kSort, Sort},
    {"gatherKthValue", Family::kSort, Sort},
    {"compute_mode", Family::kSort, Sort},
    {"kernelHistogram", Family::kSort, Sort},
    {"scan", Family::kScan, Sort},
    {"cutlass", Family::kGemm, CutlassGemm},
    {"gemm", Family::kGemm, CutlassGemm},
    {"_Kernel_", Family::kDistributed, Typed},
    {"gloo::", Family::kDistributed, Typed},
    {"to_bfloat16_cuda", Family::kCast, Typed},
    {"bfloat16_to_", Family::kCast, Typed},
    {"nvjet", Family::kGemm, CutlassGemm},
    {"all_reduce", Family::kDistributed, Typed},
    {"all_gather", Family::kDistributed, Typed},
    {"reduce_scatter", Family::kDistributed, Typed},
    {"nccl", Family::kDistributed, Typed},
    {"c10d", Family::kDistributed, Typed},
    {"symm_mem", Family::kDistributed, Typed},
    {"barrier_kernel", Family::kDistributed, Typed},
    {"signal_kernel", Family::kDistributed, Typed},
    {"conv", Family::kConvolution, Typed},
    {"im2col", Family::kCopy, Typed},
    {"col2im", Family::kCopy, Typed},
    {"vol2", Family::kCopy, Typed},
    {"pool", Family::kPooling, Typed},
    {"avg", Family::kPooling, Typed},
    {"adaptive", Family::kPooling, Typed},
    {"upsample", Family::kResample, Typed},
    {"grid_sampler", Family::kResample, Typed},
    {"_pad", Family::kCopy, Typed},
    {"norm", Family::kNormalization, Typed},
    {"Norm", Family::kNormalization, Typed},
    {"softmax", Family::kSoftmax, Typed},
    {"SoftMax", Family::kSoftmax, Typed},
    {"loss", Family::kLoss, Typed},
    {"Loss", Family::kLoss, Typed},
    {"mbedding", Family::kEmbedding, Typed},
    {"compute_grad_weight", Family::kEmbedding, Typed},
    {"sum_and_scatter", Family::kEmbedding, Typed},
    {"krn_partial", Family::kEmbedding, Typed},
    {"sparse", Family::kSparse, Typed},
    {"Sparse", Family::kSparse, Typed},
    {"coo", Family::kSparse, Typed},
    {"jagged", Family::kIndex, Typed},
    {"index", Family::kIndex, Typed},
    {"Index", Family::kIndex, Typed},
    {"scatter", Family::kIndex, Typed},
    {"compute_cuda_kernel", Family::kIndex, Typed},  // repeat_interleave
    {"gather", Family::kIndex, Typed},
    {"lstm", Family::kRecurrent, Typed},
    {"gru", Family::kRecurrent, Typed},
    {"philox", Family::kRandom, Typed},
    {"distribution", Family::kRandom, Typed},
    {"reduce", Family::kReduction, Typed},
    {"Reduce", Family::kReduction, Typed},
    {"amp_", Family::kElementwise, Typed},
    {"lementwise", Family::kElementwise, Typed},
    {"PointwiseApply", Family::kElementwise, Typed},
    {"fill", Family::kFill, Typed},
    {"copy", Family::kCopy, Typed},
    {"at::", Family::kMisc, Typed},
};

bool Matches(std::string_view pattern, std::string_view base) {
  if (!pattern.ends_with('*')) return pattern == base;
  pattern.remove_suffix(1);
  return base.starts_with(pattern);
}

// False for counts that no launch of this size is made for: the layout was not the one that the
// rule knows.
bool Plausible(const Demand& demand, const Launch& l) {
  constexpr double kBytesPerThreadMax = 1 << 20;
  return demand.bytes <= l.threads() * kBytesPerThreadMax;
}

const NamedRule* FindRule(const KernelName& name) {
  for (const NamedRule& rule : kRules) {
    if (Matches(rule.base, name.base)) return &rule;
  }
  return nullptr;
}

const Word* FindWord(const KernelName& name) {
  // The function's own name says more than its template arguments.
  for (const Word& word : kWords) {
    if (name.base.find(word.text) != std::string::npos) return &word;
  }
  for (const Word& word : kWords) {
    if (name.Has(word.text)) return &word;
  }
  return nullptr;
}

}  // namespace

Demand Recognise(const KernelLaunch& launch, const KernelName& name) {
  const Launch l{launch, name, Parameters(launch)};
  if (const NamedRule* found = FindRule(name)) {
    if (const auto demand = found->rule(l); demand && Plausible(*demand, l)) return *demand;
    Demand demand = Typed(l).value_or(Generic(l));
    demand.family = found->family;
    return demand;
  }
  Demand demand;
  if (const Word* word = FindWord(name)) {
    demand = word->rule(l).value_or(Generic(l));
    demand.family = word->family;
    return demand;
  }
  return Generic(l);
}

Family FamilyOf(const KernelName& name) {
  if (const NamedRule* rule = FindRule(name)) return rule->family;
  if (const Word* word = FindWord(name)) return word->family;
  return Family::kUnknown;
}

std::shared_ptr<const KernelName> KernelNames::Get(const std::string& mangled) {
  const std::lock_guard lock(names_mutex_);
  const auto found = names_.find(mangled);
  if (found != names_.end()) return found->second;
  if (names_.size() >= kNamesMax) names_.clear();
  auto name = std::make_shared<const KernelName>(ParseKernelName(mangled));
  names_.emplace(mangled, name);
  return name;
}

}  // namespace eidolon::timing::kernel
