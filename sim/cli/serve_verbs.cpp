// The module of the component `serve`, separate because its HTTP needs OpenSSL and Brotli.
#include "sim/cli/commands.h"
#include "sim/verb_module.h"

namespace tilecast::sim::cli {
namespace {

constexpr VerbModule kOffer = {[](CLI::App& app, std::string_view /*verb*/) { add_serve(app); }};

}  // namespace
}  // namespace tilecast::sim::cli

TILECAST_PLUGIN(serve, tilecast::sim::kVerbModuleAbi, &tilecast::sim::cli::kOffer)
