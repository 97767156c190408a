// The verbs of the command line. Each add_*() adds one verb to the app: options, help and callback.
// A verb writes its result to stdout or --output, and everything else to stderr. It throws
// tilecast::Error (exit 1) or UsageError (exit 2).
#pragma once

namespace CLI {
class App;
}

namespace tilecast::sim::cli {

void add_simulate(CLI::App& app);
void add_advise(CLI::App& app);
void add_calibrate(CLI::App& app);
void add_compare(CLI::App& app);
void add_convert(CLI::App& app);
void add_evaluate(CLI::App& app);
void add_explain(CLI::App& app);
void add_kernels(CLI::App& app);
void add_features(CLI::App& app);
void add_hw(CLI::App& app);
void add_hw_probe(CLI::App& hw);  // a verb of hw
void add_import(CLI::App& app);
void add_measure(CLI::App& app);
void add_measure_programs(CLI::App& measure);  // a verb of measure
void add_ops(CLI::App& app);
void add_report(CLI::App& app);
void add_sensitivity(CLI::App& app);
void add_sweep(CLI::App& app);
void add_tiles(CLI::App& app);
void add_tune(CLI::App& app);
void add_tune_fusion(CLI::App& tune);   // a verb of tune
void add_tune_program(CLI::App& tune);  // a verb of tune

// Verbs of modules (sim/verb_module.h).
void add_serve(CLI::App& app);
void add_train(CLI::App& app);

}  // namespace tilecast::sim::cli
