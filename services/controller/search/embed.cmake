# Writes OUT, a source that defines EmbeddedPresets() from the files of the folder PRESETS.
file(GLOB files ${PRESETS}/*.yaml)
list(SORT files)
set(entries)
foreach(file ${files})
  file(READ ${file} text)
  get_filename_component(name ${file} NAME_WE)
  string(APPEND entries "    {\"${name}\", R\"eidolon(${text})eidolon\"},\n")
endforeach()
file(WRITE ${OUT} "#include \"services/controller/search/preset.h\"

namespace eidolon::controller::search {
namespace {
constexpr EmbeddedPreset kPresets[] = {
${entries}};
}  // namespace

std::span<const EmbeddedPreset> EmbeddedPresets() { return kPresets; }

}  // namespace eidolon::controller::search
")
