#include "services/machine_code/sass/forms.h"

namespace eidolon::sass {
namespace {

using enum Operation;

constexpr Form kMemoryForms[] = {
    {0x182, kAnyForm, kLdc, false, "LDC{size:73} $d, $cR"},
    {0x181, kAnyForm, kLdg, false, "LDG{e:72}{evict:84}{ltc:68}{size:73}{load:77} $p81$d, $gL$z"},
    {0x180, kAnyForm, kLd, false, "LD{e:72}{evict:84}{ltc:68}{size:73}{load:77} $d, $gL$z"},
    {0x184, kAnyForm, kLds, false, "LDS{size:73} $d, $sL"},
    {0x183, kAnyForm, kLdl, false, "LDL{evict:84}{size:73} $d, $sL"},
    {0x186, kAnyForm, kStg, false, "STG{e:72}{evict:84}{size:73}{store:77} $gS, $R32"},
    {0x185, kAnyForm, kSt, false, "ST{e:72}{evict:84}{size:73}{store:77} $gS, $R32"},
    {0x188, kAnyForm, kSts, false, "STS{size:73} $sS, $R32"},
    {0x187, kAnyForm, kStl, false, "STL{evict:84}{size:73} $sS, $R32"},
    {0x1ae, kAnyForm, kLdgsts, false,
     "LDGSTS{e:72}{bypass:81}{evict:84}{ltc:71.1+70.1}{size:73}{load:77}?82(.ZFILL) $gB?p87(, "
     "$N87)"},
    {0x03b, kAnyForm, kLdsm, false, "LDSM.16{mlayout:78}{mcount:72} $d, $sM"},
    {0x044, kAnyForm, kStsm, false, "STSM.16{mlayout:78}{mcount:72} $sT, $R32"},
    {0x18a, kAnyForm, kAtom, false,
     "ATOM{e:72}{atom:87}{evict:84}{atype:73}{store:77} $P81, $d, $gA, $R32"},
    {0x1a8, kAnyForm, kAtom, false,
     "ATOMG{e:72}{atom:87}{evict:84}{atype:73}{store:77} $P81, $d, $gA, $R32"},
    {0x18b, kAnyForm, kAtomCas, false,
     "ATOM{e:72}{cas:87}{evict:84}{atype:73}{store:77} $P81, $d, $gN, $R32, $R64"},
    {0x1a9, kAnyForm, kAtomCas, false,
     "ATOMG{e:72}{cas:87}{evict:84}{atype:73}{store:77} $P81, $d, $gN, $R32, $R64"},
    {0x1a2, kAnyForm, kAtomFloat, false,
     "ATOM{e:72}{afop:87}{evict:84}{afloat:73}{store:77} $P81, $d, $gA, $R32"},
    {0x1a3, kAnyForm, kAtomFloat, false,
     "ATOMG{e:72}{afop:87}{evict:84}{afloat:73}{store:77} $P81, $d, $gA, $R32"},
    {0x18c, kAnyForm & ~(1 << 7), kAtoms, false, "ATOMS{atom:87}{atype:73} $d, $sS, $R32"},
    {0x18d, kAnyForm, kAtomsCas, false, "ATOMS{cas:87}{atype:73} $d, $sN, $R32, $R64"},
    {0x18c, 1 << 7, kAtomsPopcInc, false, "ATOMS.POPC.INC.32 $d, $sS"},
    {0x18e, kAnyForm, kRed, false, "REDG{e:72}{atom:87.3}{evict:84}{atype:73}{store:77} $gA, $R32"},
    {0x1a6, kAnyForm, kRedFloat, false,
     "REDG{e:72}{afop:87}{evict:84}{afloat:73}{store:77} $gA, $R32"},
    {0x1aa, kAnyForm, kQspc, false, "QSPC{e:72}{space:73} $P81, $d, $gN"},
    {0x189, kAnyForm, kShfl, false, ""},
};

}  // namespace

std::span<const Form> MemoryForms() { return kMemoryForms; }

}  // namespace eidolon::sass
