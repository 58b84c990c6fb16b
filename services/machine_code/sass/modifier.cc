// A field's number selects a word of its list, so the order is the encoding. `.INVALIDn` is what
// the disassembler prints for numbers without a meaning; they stay in the lists, because a list's
// length also states how wide its field is where the form's text gives no width (print.cc).
#include "services/machine_code/sass/modifier.h"

#include <array>

namespace eidolon::sass {
namespace {

using Words = std::span<const std::string_view>;
using V = std::string_view;

constexpr V kFtz[] = {"", ".FTZ"};
constexpr V kFmz[] = {"", ".FMZ"};
constexpr V kSat[] = {"", ".SAT"};
constexpr V kRelu[] = {"", ".RELU"};
constexpr V kRounding[] = {"", ".RM", ".RP", ".RZ"};
constexpr V kRoundInteger[] = {"", ".FLOOR", ".CEIL", ".TRUNC"};
constexpr V kNan[] = {"", ".NAN"};
constexpr V kXorSign[] = {"", ".XORSIGN"};
constexpr V kFloatCompare[] = {".F",   ".LT",  ".EQ",  ".LE",  ".GT",  ".NE",  ".GE",  ".NUM",
                               ".NAN", ".LTU", ".EQU", ".LEU", ".GTU", ".NEU", ".GEU", ".T"};
constexpr V kDoubleCompare[] = {".MIN", ".LT",  ".EQ",  ".LE",  ".GT",  ".NE",  ".GE",  ".NUM",
                                ".NAN", ".LTU", ".EQU", ".LEU", ".GTU", ".NEU", ".GEU", ".MAX"};
constexpr V kIntegerCompare[] = {".F", ".LT", ".EQ", ".LE", ".GT", ".NE", ".GE", ".T"};
constexpr V kCombine[] = {".AND", ".OR", ".XOR", ".INVALID3"};
constexpr V kUnsigned[] = {".U32", ""};
constexpr V kSignedness[] = {".U32", ".S32"};
constexpr V kSigned[] = {"", ".S32"};
constexpr V kCarry[] = {"", ".X"};
constexpr V kHigh[] = {"", ".HI"};
constexpr V kSignedHigh[] = {"", ".SX32"};
constexpr V kWrap[] = {"", ".W"};
constexpr V kExtended[] = {"", ".EX"};
constexpr V kPredicateAnd[] = {"", ".PAND"};
constexpr V kDirection[] = {".L", ".R"};
constexpr V kShiftType[] = {".S64", ".U64", ".S32", ".U32"};
constexpr V kPermute[] = {"", ".F4E", ".B4E", ".RC8", ".ECL", ".ECR", ".RC16", ".INVALID7"};
constexpr V kMinMaxType[] = {".U32", "", ".U16x2", ".S16x2"};
constexpr V kScale[] = {".INVALID0", ".D8", ".D4", ".D2", "", ".M2", ".M4", ".M8"};
constexpr V kFunction[] = {".COS",       ".SIN",       ".EX2",       ".LG2",
                           ".RCP",       ".RSQ",       ".RCP64H",    ".RSQ64H",
                           ".SQRT",      ".TANH",      ".INVALID10", ".INVALID11",
                           ".INVALID12", ".INVALID13", ".INVALID14", ".INVALID15"};
constexpr V kFunctionFormat[] = {"", ".F16", ".BF16", ".INVALID3"};
constexpr V kFunctionPart[] = {"", ".H1", ".INVALID2", ".INVALID3"};
constexpr V kFloatType[] = {".INVALID0", ".F16",      ".F32",      ".F64",
                            ".BF16",     ".INVALID5", ".INVALID6", ".INVALID7"};
constexpr V kFloatSource[] = {".INVALID0", ".F16",      "",          ".F64",
                              ".BF16",     ".INVALID5", ".INVALID6", ".INVALID7"};
// Sign in the lowest bit.
constexpr V kIntegerType[] = {".U8", ".S8", ".U16", ".S16", ".U32", "", ".U64", ".S64"};
constexpr V kByteChoice[] = {"", ".B1", ".B2", ".B3"};
constexpr V kPartChoice[] = {"", ".B1", ".B2", ".B3", "", ".H1", ".INVALID2", ".INVALID3"};
constexpr V kIgnoreNan[] = {"", ".NTZ"};
constexpr V kBfloat[] = {"", ".BF16_V2"};
constexpr V kFloat32[] = {"", ".F32"};
constexpr V kHalfFormat[] = {"", ".INVALID1", ".BF16_V2", ".INVALID3"};
constexpr V kHalfResult[] = {"", ".BF"};
constexpr V kHalfAnd[] = {"", ".H_AND"};
constexpr V kPackSaturate[] = {"", ".SATFINITE"};
constexpr V kPackFormat[] = {".F16", ".BF16", ".TF32", ".TF32", ".E4M3", ".E4M3", ".E5M2", ".E5M2"};
constexpr V kHalfPack[] = {"", ".BF16"};
constexpr V kPackTarget[] = {".PACK_AB", ".MERGE_C"};
constexpr V kPackRounding[] = {"", ".INVALID1", ".INVALID2", ".RZ"};
constexpr V kMatrixShape[] = {".1688", ".16816", ".1684", ".INVALID3"};
constexpr V kMatrixResult[] = {".F16", ".F32"};
constexpr V kMatrixType[] = {"", ".BF16", ".TF32", ".INVALID3"};
constexpr V kDotSign[] = {".U8", ".S8"};
constexpr V kExtendedAddress[] = {"", ".E"};
constexpr V kEviction[] = {".EF", "", ".EL", ".LU", ".EU", ".NA", ".INVALID6", ".INVALID7"};
constexpr V kPrefetch[] = {"", ".LTC64B", ".LTC128B", ".LTC256B"};
constexpr V kSize[] = {".U8", ".S8", ".U16", ".S16", "", ".64", ".128", ".INVALID7"};
constexpr V kCopySize[] = {"", ".64", ".128", ".INVALID3"};
constexpr V kConverge[] = {"", ".RELIABLE", ".RECONVERGENT", ".INVALID3"};
constexpr V kLoadOrder[] = {
    "",          ".CONSTANT.PRIVATE", ".CONSTANT.CTA",        ".CONSTANT.CTA.PRIVATE",
    ".CONSTANT", ".STRONG.SM",        ".STRONG.GPU.PRIVATE",  ".STRONG.GPU",
    ".MMIO.GPU", ".CONSTANT.SM",      ".STRONG.SYS",          ".CONSTANT.SM.PRIVATE",
    ".MMIO.SYS", ".CONSTANT.VC",      ".CONSTANT.VC.PRIVATE", ".CONSTANT.GPU"};
constexpr V kStoreOrder[] = {"",
                             ".CONSTANT.PRIVATE",
                             ".CONSTANT.CTA",
                             ".CONSTANT.CTA.PRIVATE",
                             ".STRONG.SM.PRIVATE",
                             ".STRONG.SM",
                             ".STRONG.GPU.PRIVATE",
                             ".STRONG.GPU",
                             ".MMIO.GPU",
                             ".CONSTANT.SM",
                             ".STRONG.SYS",
                             ".CONSTANT.SM.PRIVATE",
                             ".MMIO.SYS",
                             ".CONSTANT.VC",
                             ".CONSTANT.VC.PRIVATE",
                             ".CONSTANT.GPU"};
constexpr V kAtomicOperation[] = {".ADD",       ".MIN",       ".MAX",       ".INC",
                                  ".DEC",       ".AND",       ".OR",        ".XOR",
                                  ".EXCH",      ".SAFEADD",   ".INVALID10", ".INVALID11",
                                  ".INVALID12", ".INVALID13", ".INVALID14", ".INVALID15"};
constexpr V kAtomicType[] = {"",     ".S32",      ".64",       ".S64",
                             ".128", ".INVALID5", ".INVALID6", ".INVALID7"};
constexpr V kAtomicType80[] = {"",          ".S32", ".64",     ".F32.FTZ.RN",
                               ".F16x2.RN", ".S64", ".F64.RN", ".INVALID7"};
constexpr V kAtomicFloat[] = {".F16x2.RN",  ".F16x4.RN",   ".F16x8.RN",     ".BF16x2.RN",
                              ".BF16x4.RN", ".BF16x8.RN",  ".INVALID6",     ".INVALID7",
                              ".INVALID8",  ".F32.FTZ.RN", ".F32x2.FTZ.RN", ".F32x4.FTZ.RN",
                              ".F32.RN",    ".F32x2.RN",   ".F32x4.RN",     ".F64.RN"};
constexpr V kAtomicFloatOperation[] = {".ADD", ".INVALID1", ".MIN",      ".INVALID3",
                                       ".MAX", ".INVALID5", ".INVALID6", ".INVALID7"};
constexpr V kExchange[] = {".CAS", ".CAST", ".CAS", ".CAST.SPIN"};
constexpr V kSpace[] = {".G", ".L", ".S", ".D"};
constexpr V kShuffle[] = {".IDX", ".UP", ".DOWN", ".BFLY"};
constexpr V kVoteModes[] = {".ALL", ".ANY", ".EQ", ".INVALID3"};
constexpr V kReduceType[] = {"", ".S32", ".F32", ".INVALID3"};
constexpr V kReduce[] = {"", ".OR", ".XOR", ".SUM", ".MIN", ".MAX", ".INVALID6", ".INVALID7"};
constexpr V kMatrixLayout[] = {".M88", ".MT88", ".M832", ".INVALID3"};
constexpr V kMatrixCount[] = {"", ".2", ".4", ".INVALID3"};
constexpr V kFenceOrder[] = {".SC", ".ALL", "", ".MMIO"};
constexpr V kFenceScope[] = {".CTA",      ".SM", ".GPU",         ".SYS",
                             ".INVALID4", ".VC", ".CTA.PARTIAL", ".INVALID7"};
constexpr V kBarrier[] = {".SYNC",    ".ARV",      ".RED",      ".SCAN",
                          ".SYNCALL", ".INVALID5", ".INVALID6", ".INVALID7"};
constexpr V kBarrierReduce[] = {".POPC", ".AND", ".OR", ".INVALID3"};
constexpr V kDefer[] = {"", ".DEFER_BLOCKING"};
constexpr V kCallReturn[] = {"", ".NOINC"};
constexpr V kReturnDepth[] = {"", ".NODEC"};
constexpr V kBranch[] = {"", ".U", ".DIV", ".CONV"};
constexpr V kClear[] = {"", ".CLEAR"};
constexpr V kSpread[] = {".EXCLUSIVE", ""};
constexpr V kShiftAmount[] = {"", ".SH"};
constexpr V kBypass[] = {".BYPASS", ""};
constexpr V kPair[] = {".F32x2.HI_LO", ".F32x2.LO_HI", ".F32"};
constexpr V kPackedAdd[] = {"", ".16x2"};

struct Named {
  V name;
  Words words;
};

constexpr Named kLists[] = {
    {"ftz", kFtz},
    {"fmz", kFmz},
    {"sat", kSat},
    {"relu", kRelu},
    {"rnd", kRounding},
    {"pair", kPair},
    {"irnd", kRoundInteger},
    {"nan", kNan},
    {"xorsign", kXorSign},
    {"fcmp", kFloatCompare},
    {"dcmp", kDoubleCompare},
    {"icmp", kIntegerCompare},
    {"bop", kCombine},
    {"u32", kUnsigned},
    {"us32", kSignedness},
    {"s32", kSigned},
    {"x", kCarry},
    {"hi", kHigh},
    {"sx32", kSignedHigh},
    {"w", kWrap},
    {"ex", kExtended},
    {"pand", kPredicateAnd},
    {"lr", kDirection},
    {"shift", kShiftType},
    {"prmt", kPermute},
    {"vtype", kMinMaxType},
    {"scale", kScale},
    {"mufu", kFunction},
    {"mform", kFunctionFormat},
    {"mpart", kFunctionPart},
    {"ftype", kFloatType},
    {"fsource", kFloatSource},
    {"itype", kIntegerType},
    {"byte", kByteChoice},
    {"part", kPartChoice},
    {"ntz", kIgnoreNan},
    {"bf", kBfloat},
    {"f32", kFloat32},
    {"hfmt", kHalfFormat},
    {"hbf", kHalfResult},
    {"hand", kHalfAnd},
    {"satfinite", kPackSaturate},
    {"pack", kPackFormat},
    {"hbf16", kHalfPack},
    {"packto", kPackTarget},
    {"packrnd", kPackRounding},
    {"mshape", kMatrixShape},
    {"mresult", kMatrixResult},
    {"mtype", kMatrixType},
    {"dot", kDotSign},
    {"e", kExtendedAddress},
    {"evict", kEviction},
    {"ltc", kPrefetch},
    {"size", kSize},
    {"copysize", kCopySize},
    {"converge", kConverge},
    {"load", kLoadOrder},
    {"store", kStoreOrder},
    {"atom", kAtomicOperation},
    {"atype", kAtomicType},
    {"atype80", kAtomicType80},
    {"afloat", kAtomicFloat},
    {"afop", kAtomicFloatOperation},
    {"cas", kExchange},
    {"space", kSpace},
    {"shfl", kShuffle},
    {"vote", kVoteModes},
    {"reduce", kReduce},
    {"cred", kReduceType},
    {"mlayout", kMatrixLayout},
    {"mcount", kMatrixCount},
    {"order", kFenceOrder},
    {"scope", kFenceScope},
    {"bar", kBarrier},
    {"barred", kBarrierReduce},
    {"defer", kDefer},
    {"noinc", kCallReturn},
    {"nodec", kReturnDepth},
    {"bra", kBranch},
    {"clear", kClear},
    {"exclusive", kSpread},
    {"sh", kShiftAmount},
    {"bypass", kBypass},
    {"x2", kPackedAdd},
};

struct Special {
  std::uint32_t number;
  V name;
};

constexpr Special kSpecials[] = {
    {0, "SR_LANEID"},
    {1, "SR_CLOCK"},
    {2, "SR_VIRTCFG"},
    {3, "SR_VIRTID"},
    {32, "SR_TID"},
    {33, "SR_TID.X"},
    {34, "SR_TID.Y"},
    {35, "SR_TID.Z"},
    {37, "SR_CTAID.X"},
    {38, "SR_CTAID.Y"},
    {39, "SR_CTAID.Z"},
    {40, "SR_NTID"},
    {46, "SR_LWINHI"},
    {47, "SR_SWINHI"},
    {48, "SR_SWINLO"},
    {49, "SR_SWINSZ"},
    {50, "SR_SMEMSZ"},
    {52, "SR_LWINLO"},
    {53, "SR_LWINSZ"},
    {56, "SR_EQMASK"},
    {57, "SR_LTMASK"},
    {58, "SR_LEMASK"},
    {59, "SR_GTMASK"},
    {60, "SR_GEMASK"},
    {67, "SR_VIRTUALSMID"},
    {80, "SR_CLOCKLO"},
    {81, "SR_CLOCKHI"},
    {82, "SR_GLOBALTIMERLO"},
    {83, "SR_GLOBALTIMERHI"},
    {135, "SR_WARPGROUPID"},
    {136, "SR_CgaCtaId"},
    {137, "SR_GpcLocalCgaId"},
    {138, "SR_CgaSize"},
    {139, "SR_CTARegPoolSz"},
    {255, "SRZ"},
};

}  // namespace

Words FindModifiers(V list) {
  for (const Named& named : kLists) {
    if (named.name == list) return named.words;
  }
  return {};
}

V SpecialRegisterName(std::uint32_t number) {
  for (const Special& special : kSpecials) {
    if (special.number == number) return special.name;
  }
  return {};
}

}  // namespace eidolon::sass
