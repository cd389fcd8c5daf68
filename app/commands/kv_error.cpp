// octavo kv-error: what KV settings do to keys, values and attention's output, on made-up and on real activations.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/commands/commands.h"
#include "app/engine_setup.h"
#include "app/kv_choices.h"
#include "app/long_job.h"
#include "app/measured_text.h"
#include "app/model_choice.h"
#include "app/npy.h"
#include "app/output.h"
#include "runtime/measure/activations.h"
#include "runtime/measure/kv_error.h"

namespace octavo {
namespace {

constexpr int64_t kQueries = 64;

struct Options {
    ModelOptions model;
    KvChoices choices;
    TextOptions text;
    JsonOption json;
    bool live = false;
    std::string k, v, q;  // .npy files
    std::vector<double> outliers;
    int64_t cells = 1024;
};

struct Row {
    std::string family;
    KvSettings kv;
    KvError error;
};

Result<KvActivations> read_activations(const Options& options) {
    const Result<NpyFloats> k = read_npy(options.k);
    if (!k) return k.error();
    const Result<NpyFloats> v = read_npy(options.v);
    if (!v) return v.error();
    Result<NpyFloats> q = NpyFloats{{0, k->shape.size() == 3 ? k->shape[1] : 1, 1}, {}};
    if (!options.q.empty()) q = read_npy(options.q);
    if (!q) return q.error();
    const bool three = k->shape.size() == 3 && v->shape == k->shape && q->shape.size() == 3;
    const auto small = [](int64_t size) { return size > 0 && size <= 65536; };
    if (!three || !small(k->shape[1]) || !small(k->shape[2]) || !small(q->shape[1]) ||
        (q->shape[0] > 0 && q->shape[2] != k->shape[2])) {
        return Error{
            ErrorKind::input,
            fmt::format("{} and {} must have one shape [cells, kv_heads, head_dim], and queries [queries, heads, "
                        "head_dim] with the same head_dim.",
                        options.k, options.v)};
    }
    KvActivations read{"dump",
                       static_cast<int>(q->shape[1]),
                       static_cast<int>(k->shape[1]),
                       static_cast<int>(k->shape[2]),
                       k->shape[0],
                       q->shape[0],
                       k->values,
                       v->values,
                       q->values};
    if (Status status = check_activations(read); !status) return status.error();
    return read;
}

Result<std::vector<KvActivations>> subjects(const Options& options) {
    std::vector<KvActivations> all;
    if (!options.k.empty()) {
        Result<KvActivations> read = read_activations(options);
        if (!read) return read.error();
        all.push_back(std::move(*read));
    } else if (options.live) {
        const Result<EngineOptions> chosen = engine_options(options.model, {});
        if (!chosen) return chosen.error();
        const Result<std::shared_ptr<const Model>> model = open_chosen_model(options.model.model);
        if (!model) return model.error();
        const Result<std::vector<int32_t>> ids = measured_tokens(options.text, **model);
        if (!ids) return ids.error();
        auto layers = run_long("activations", [&](Job& job) {
            return record_activations(*model, *chosen, *ids, std::min<int64_t>(kQueries, std::ssize(*ids)), job);
        });
        if (!layers) return layers.error();
        all = std::move(*layers);
    } else {
        for (const std::string_view family : kv_error_families()) {
            Result<KvActivations> made =
                make_activations(family, options.cells, std::min(kQueries, options.cells), options.text.seed);
            if (!made) return made.error();
            all.push_back(std::move(*made));
        }
        return all;
    }
    const size_t real = all.size();
    for (const double spread : options.outliers) {
        for (size_t i = 0; i < real; ++i) {
            Result<KvActivations> wide = with_outliers(all[i], spread);
            if (!wide) return wide.error();
            wide->family += fmt::format(", outliers {}", spread);
            all.push_back(std::move(*wide));
        }
    }
    return all;
}

Result<std::vector<Row>> measure(const std::vector<KvActivations>& subjects, const std::vector<KvSettings>& settings,
                                 Backend& backend, Job& job) {
    std::vector<Row> rows;
    const auto total = static_cast<int64_t>(subjects.size() * settings.size());
    for (const KvActivations& subject : subjects) {
        const Result<std::vector<float>> exact = exact_attention(subject);
        if (!exact) return exact.error();
        for (const KvSettings& kv : settings) {
            if (job.cancelled()) return Error{ErrorKind::cancelled, "The measurement was stopped."};
            const Result<KvError> error = measure_kv_error(subject, kv, *exact, backend);
            if (!error) return error.error();
            rows.push_back({subject.family, kv, *error});
            job.report(std::ssize(rows), total);
        }
    }
    return rows;
}

std::string table(const std::vector<Row>& rows) {
    std::string text;
    std::string family;
    for (const Row& row : rows) {
        if (row.family != family) {
            family = row.family;
            text += fmt::format("\n{}\n{:<28} {:>9} {:>9} {:>9}\n", family, "KV", "K", "V", "attention");
        }
        text += fmt::format("{:<28} {:>8.3f}% {:>8.3f}% {:>8.3f}%\n", describe_kv_settings(row.kv),
                            100 * row.error.rel_k, 100 * row.error.rel_v, 100 * row.error.attention_error);
    }
    return text;
}

nlohmann::json row_json(const Row& row) {
    return {{"scheme", kv_scheme_name(row.kv.scheme)},
            {"k", kv_format_spec(row.kv.scheme.k).name},
            {"v", kv_format_spec(row.kv.scheme.v).name},
            {"family", row.family},
            {"rotate_k", row.kv.rotates_k()},
            {"rotate_v", row.kv.rotates_v()},
            {"window", row.kv.window},
            {"sinks", row.kv.sinks},
            {"encoder", kv_encoder_name(row.kv.encoder)},
            {"rel_k", row.error.rel_k},
            {"rel_v", row.error.rel_v},
            {"attention_error", row.error.attention_error}};
}

int run(const Options& options) {
    if (const Status target = check_json_target(options.json); !target) return fail(target.error());
    if (options.k.empty() != options.v.empty() || (options.k.empty() && !options.q.empty())) {
        return fail({ErrorKind::usage, "--k and --v belong together, and --q to them: name them all."});
    }
    const Result<std::vector<KvSettings>> settings = kv_settings_of(options.choices);
    if (!settings) return fail(settings.error());
    const Result<DeviceChoice> device = parse_device(options.model.device);
    if (!device) return fail(device.error());
    const Result<std::unique_ptr<Backend>> backend =
        open_backend_on_host_arrays({*device, options.model.threads, options.model.gpu_budget_bytes});
    if (!backend) return fail(backend.error());
    const Result<std::vector<KvActivations>> all = subjects(options);
    if (!all) return fail(all.error());
    const Result<std::vector<Row>> rows =
        run_long("kv-error", [&](Job& job) { return measure(*all, *settings, **backend, job); });
    if (!rows) return fail(rows.error());

    print_result(options.json, "Relative root mean square errors\n" + table(*rows));
    nlohmann::json list = nlohmann::json::array();
    for (const Row& row : *rows) list.push_back(row_json(row));
    return finish(options.json, nlohmann::json{{"rows", list}, {"backend", (*backend)->name()}});
}

}  // namespace

RunCommand add_kv_error_command(CLI::App& command) {
    auto options = std::make_shared<Options>();
    options->choices.windows = {"0"};
    options->choices.sinks = {"0"};
    add_kv_choices(command, options->choices);
    add_count_option(command, "--cells", options->cells, "Cells of the made-up families (default: 1024)");
    command.add_option("--k", options->k, "Keys to measure on, [cells, kv_heads, head_dim]")->type_name("FILE.npy");
    command.add_option("--v", options->v, "Values, likewise")->type_name("FILE.npy");
    command.add_option("--q", options->q, "Queries of the last cells, [queries, heads, head_dim]")
        ->type_name("FILE.npy");
    command.add_flag("--live", options->live, "Measure on what the model computes while it reads a text, by layer");
    command.add_option("--outliers", options->outliers, "Also with outlier channels of these spreads in K (6,20,75)")
        ->type_name("LIST")
        ->delimiter(',');
    add_text_options(command, options->text);
    add_model_options(command, options->model);
    add_json_option(command, options->json);
    command.footer(
        "Without --k and --v or --live: made-up families. No FP16 window and no sinks unless they are asked for.\n"
        "'octavo fidelity --dump DIR' writes files for --k, --v and --q.");
    return [options] { return run(*options); };
}

}  // namespace octavo
