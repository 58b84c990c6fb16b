# Writes OUT, a source that defines EmbeddedModels() from the model files of the folder MODELS.
file(GLOB files ${MODELS}/*.yaml)
list(SORT files)
set(entries)
foreach(file ${files})
  file(READ ${file} text)
  get_filename_component(name ${file} NAME)
  string(APPEND entries "    {\"${name}\", R\"eidolon(${text})eidolon\"},\n")
endforeach()
file(WRITE ${OUT} "#include \"services/timing/gpu_model/embedded_models.h\"

namespace eidolon::timing::gpu_model {
namespace {
constexpr EmbeddedModel kModels[] = {
${entries}};
}  // namespace

std::span<const EmbeddedModel> EmbeddedModels() { return kModels; }

}  // namespace eidolon::timing::gpu_model
")
