// octavo fidelity: what KV settings do to the model's predictions on a text, against a reference scheme.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
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
#include "app/text_file.h"
#include "runtime/measure/activations.h"
#include "runtime/measure/fidelity.h"

namespace octavo {
namespace {

constexpr int64_t kDumpedQueries = 64;

struct Options {
    ModelOptions model;
    CacheOptions reference;
    KvChoices choices;
    TextOptions text;
    JsonOption json;
    std::string csv;
    std::string dump;
};

nlohmann::json scores_json(const FidelityScores& scores) {
    return {{"positions", scores.positions}, {"mean_kl", scores.mean_kl}, {"median_kl", scores.median_kl},
            {"kl_999", scores.kl_999},       {"top1", scores.top1},       {"perplexity", scores.perplexity}};
}

// Whether all of the text stood in the FP16 copies, so that the scheme did nothing.
bool nothing_packed(const FidelityRow& row) {
    return !row.kv.scheme.raw() && row.all.positions <= row.kv.window + row.kv.sinks;
}

nlohmann::json row_json(const FidelityRow& row, const std::string& equalise) {
    nlohmann::json json = scores_json(row.all);
    json["scheme"] = kv_scheme_name(row.kv.scheme);
    json["rotate"] = kv_rotation_name(row.kv.rotation);
    json["rotate_k"] = row.kv.rotates_k();
    json["rotate_v"] = row.kv.rotates_v();
    json["equalise"] = equalise;
    json["window"] = row.kv.window;
    json["sinks"] = row.kv.sinks;
    json["encoder"] = kv_encoder_name(row.kv.encoder);
    json["nothing_packed"] = nothing_packed(row);
    json["buckets"] = nlohmann::json::array();
    for (const FidelityScores& bucket : row.buckets) json["buckets"].push_back(scores_json(bucket));
    return json;
}

// Which of K and V are rotated.
std::string rotated_sides(const KvSettings& kv) {
    if (kv.rotates_k() && kv.rotates_v()) return "kv";
    return kv.rotates_k() ? "k" : kv.rotates_v() ? "v" : "-";
}

std::string table(const FidelityReport& report) {
    std::string text =
        fmt::format("{:<16} {:>6} {:>5} {:>6} {:>9} | {:>9} {:>9} {:>9} {:>8} {:>9} | {}\n", "KV", "window", "sinks",
                    "rotate", "encoder", "mean KL", "median", "99.9%", "top-1", "ppl", "mean KL by quarter");
    for (const FidelityRow& row : report.rows) {
        text += fmt::format("{:<16} {:>6} {:>5} {:>6} {:>9} | {:>9.2e} {:>9.2e} {:>9.2e} {:>7.3f}% {:>9.4f} |",
                            kv_scheme_name(row.kv.scheme), row.kv.window, row.kv.sinks, rotated_sides(row.kv),
                            kv_encoder_name(row.kv.encoder), row.all.mean_kl, row.all.median_kl, row.all.kl_999,
                            100 * row.all.top1, row.all.perplexity);
        for (const FidelityScores& bucket : row.buckets) text += fmt::format(" {:.1e}", bucket.mean_kl);
        text += "\n";
    }
    return text;
}

// For each row that says nothing of its scheme.
std::string warnings(const FidelityReport& report) {
    std::string text;
    for (const FidelityRow& row : report.rows) {
        if (!nothing_packed(row)) continue;
        text += fmt::format(
            "{} keeps the newest {} and the first {} tokens in FP16, and the text has {}: nothing of it was read "
            "packed; give a longer text, or a smaller --kv-window or --kv-sinks.\n",
            kv_scheme_name(row.kv.scheme), row.kv.window, row.kv.sinks, row.all.positions);
    }
    return text.empty() ? text : "\n" + text;
}

// Quoted, since pairs have a comma.
std::string csv_text(const FidelityReport& report, const std::string& equalise) {
    std::string text =
        "scheme,rotate_k,rotate_v,equalise,window,sinks,encoder,bucket,positions,mean_kl,median_kl,kl_999,top1,"
        "perplexity\n";
    const auto line = [&](const FidelityRow& row, const std::string& bucket, const FidelityScores& scores) {
        text += fmt::format("\"{}\",{:d},{:d},{},{},{},{},{},{},{},{},{},{},{}\n", kv_scheme_name(row.kv.scheme),
                            row.kv.rotates_k(), row.kv.rotates_v(), equalise, row.kv.window, row.kv.sinks,
                            kv_encoder_name(row.kv.encoder), bucket, scores.positions, scores.mean_kl, scores.median_kl,
                            scores.kl_999, scores.top1, scores.perplexity);
    };
    for (const FidelityRow& row : report.rows) {
        line(row, "all", row.all);
        for (size_t b = 0; b < kFidelityBuckets; ++b) line(row, fmt::format("{}", b + 1), row.buckets[b]);
    }
    return text;
}

// K, V and the last queries of every full-attention layer, as layerN_k.npy, layerN_v.npy and layerN_q.npy.
Status dump_activations(const Options& options, std::shared_ptr<const Model> model, const EngineOptions& engine,
                        const std::vector<int32_t>& ids) {
    const auto layers = run_long("K and V", [&](Job& job) {
        return record_activations(std::move(model), engine, ids, std::min<int64_t>(kDumpedQueries, std::ssize(ids)),
                                  job);
    });
    if (!layers) return layers.error();
    const std::filesystem::path folder = options.dump;
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) {
        return Error{ErrorKind::io, fmt::format("The folder {} could not be made: {}.", options.dump, error.message())};
    }
    for (const KvActivations& layer : *layers) {
        std::string name = layer.family;  // "layer 4"
        std::erase(name, ' ');
        const auto write = [&](const char* what, int64_t rows, int heads, const std::vector<float>& values) {
            return write_npy(folder / (name + what), {rows, heads, layer.head_dim}, values);
        };
        if (Status status = write("_k.npy", layer.cells, layer.kv_heads, layer.k); !status) return status;
        if (Status status = write("_v.npy", layer.cells, layer.kv_heads, layer.v); !status) return status;
        if (Status status = write("_q.npy", layer.queries, layer.heads, layer.q); !status) return status;
        print_result(
            options.json,
            fmt::format("{}/{}_k.npy, _v.npy: {} cells x {} x {}; _q.npy: the last {} x {} x {}\n", options.dump, name,
                        layer.cells, layer.kv_heads, layer.head_dim, layer.queries, layer.heads, layer.head_dim));
    }
    return {};
}

int run(const Options& options) {
    if (const Status target = check_json_target(options.json); !target) return fail(target.error());
    const Result<std::vector<KvSettings>> candidates = kv_settings_of(options.choices, options.reference.context);
    if (!candidates) return fail(candidates.error());
    const Result<EngineOptions> chosen = engine_options(options.model, options.reference);
    if (!chosen) return fail(chosen.error());
    const Result<std::shared_ptr<const Model>> model = open_scaled_model(options.model, options.reference);
    if (!model) return fail(model.error());
    const Result<std::vector<int32_t>> ids = measured_tokens(options.text, **model);
    if (!ids) return fail(ids.error());
    const Result<std::unique_ptr<Engine>> engine = Engine::create(*model, *chosen);
    if (!engine) return fail(engine.error());
    const Status fits =
        check_all_kv_settings(*candidates, kv_shape((*model)->config), (*engine)->info().context_length);
    if (!fits) return fail(fits.error());
    if (!options.dump.empty()) {
        const Status dumped = dump_activations(options, *model, *chosen, *ids);
        if (!dumped) return fail(dumped.error());
    }

    print_result(options.json,
                 fmt::format("{}\n{}\n{}; reference {}\n", model_line(**model), (*engine)->info().backend,
                             text_line(options.text, ids->size()), describe_kv_settings(chosen->session.kv)));
    const FidelityRequest request{*ids, chosen->session.kv, *candidates};
    const Result<FidelityReport> report =
        run_long("fidelity", [&](Job& job) { return measure_fidelity(**engine, request, job); });
    if (!report) return fail(report.error());
    print_result(options.json, fmt::format("perplexity of the reference {:.4f}; divergences in nats\n\n{}{}",
                                           report->reference.all.perplexity, table(*report), warnings(*report)));
    if (!options.csv.empty()) {
        const Status written = write_text_file(options.csv, csv_text(*report, options.reference.equalise));
        if (!written) return fail(written.error());
    }
    nlohmann::json rows = nlohmann::json::array();
    for (const FidelityRow& row : report->rows) rows.push_back(row_json(row, options.reference.equalise));
    return finish(options.json, nlohmann::json{{"rows", rows},
                                               {"reference", row_json(report->reference, options.reference.equalise)},
                                               {"model", (*model)->name},
                                               {"backend", (*engine)->info().backend},
                                               {"text", text_line(options.text, ids->size())},
                                               {"positions", ids->size()}});
}

}  // namespace

RunCommand add_fidelity_command(CLI::App& command) {
    auto options = std::make_shared<Options>();
    add_kv_choices(command, options->choices);
    command.add_option("--reference", options->reference.kv, "The scheme to compare with")
        ->type_name("SCHEME")
        ->capture_default_str();
    add_text_options(command, options->text);
    add_file_option(command, "--csv", options->csv, "Write the rows, with quarters of the text, as CSV");
    add_file_option(command, "--dump", options->dump, "Write K and V of every layer (and the last queries) as .npy")
        ->type_name("DIR");
    add_channel_options(command, options->reference);
    add_testing_options(command, options->reference);
    add_model_options(command, options->model);
    add_json_option(command, options->json);
    command.footer("Every combination of the lists is measured once. Ctrl-C stops it.");
    return [options] { return run(*options); };
}

}  // namespace octavo
