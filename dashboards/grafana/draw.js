// Draws one dashboard with Grafana's own components, at the size of the window.
//
// window.drawDashboard(board, answers, range, chosen) is called once per page. `answers`: for each panel's id, for each
// query Prometheus' answer ({result: [{metric, values}]}); `range`: {from, to} in Unix milliseconds; `chosen`: the values
// of the dashboard's variables, by label.
import {
    applyFieldOverrides, cacheFieldDisplayNames, createTheme, dateTime, EventBusSrv, FieldColorModeId, FieldType,
    getDisplayValueAlignmentFactors, getFieldDisplayValues, getValueFormats, identityOverrideProcessor, Registry,
    standardTransformers, standardTransformersRegistry, transformDataFrame, VizOrientation,
} from "@grafana/data";
import {
    BarGauge, BigValue, BigValueColorMode, BigValueGraphMode, BigValueTextMode, GlobalStyles, PanelChrome,
    PanelContextProvider, ThemeContext, TimeSeries, VizRepeater,
} from "@grafana/ui";
import { TableNG } from "@grafana/ui/unstable";
import { createElement as h } from "react";
import { createRoot } from "react-dom/client";
import { firstValueFrom } from "rxjs";

const COLUMNS = 24, ROW = 30, GAP = 8; // Of Grafana's dashboard grid, in pixels.
// Heights that Grafana has above the grid: its own bar, and the dashboard's variables.
const BAR = 40, VARIABLES = 56;
const theme = createTheme({ colors: { mode: "light" } });
// Grafana's defaults for options of time series.
const LINES = {
    drawStyle: "line", lineInterpolation: "linear", lineWidth: 1, fillOpacity: 0, gradientMode: "none",
    showPoints: "auto", pointSize: 5, spanNulls: false, axisPlacement: "auto", axisLabel: "",
    scaleDistribution: { type: "linear" }, stacking: { mode: "none", group: "A" },
    hideFrom: { legend: false, tooltip: false, viz: false }, thresholdsStyle: { mode: "off" },
};
const CELLS = { align: "auto", cellOptions: { type: "auto" }, inspect: false, filterable: false };
const PATHS = [
    "unit", "decimals", "min", "max", "mappings", "thresholds", "noValue", "displayName", "color", "custom.lineWidth",
    "custom.fillOpacity", "custom.fillBelowTo", "custom.lineStyle", "custom.hideFrom", "custom.width", "custom.align",
    "custom.cellOptions", "custom.wrapText", "custom.drawStyle", "custom.showPoints", "custom.stacking", "custom.axisPlacement",
];
const registry = new Registry(() => PATHS.map((id) => {
    const isCustom = id.startsWith("custom.");
    const path = isCustom ? id.slice("custom.".length) : id;
    return { id, path, name: id, isCustom, process: identityOverrideProcessor, shouldApply: () => true };
}));
const { mergeTransformer, organizeFieldsTransformer } = standardTransformers;
standardTransformersRegistry.setInit(() => [mergeTransformer, organizeFieldsTransformer].map((transformation) => ({
    id: transformation.id, name: transformation.name, transformation: async () => transformation,
})));

function legendOf(format, labels) {
    return format.replace(/\{\{\s*(\w+)\s*\}\}/g, (_, name) => labels[name] ?? "").trim();
}

// One frame per series, as Grafana's data source for Prometheus answers a range query.
function seriesFrames(target, answer) {
    return answer.result.map(({ metric, values }) => ({
        refId: target.refId,
        length: values.length,
        fields: [
            { name: "Time", type: FieldType.time, config: {}, values: values.map(([at]) => at * 1000) },
            {
                name: "Value", type: FieldType.number, labels: metric, values: values.map(([, value]) => Number(value)),
                config: { displayNameFromDS: legendOf(target.legendFormat, metric) },
            },
        ],
    }));
}

// One frame of the last values with a column for each label, as that data source answers in the format "table".
function tableFrame(target, answer, many) {
    const last = answer.result.map(({ metric, values }) => ({ metric, value: values.at(-1) }));
    const labels = [...new Set(last.flatMap(({ metric }) => Object.keys(metric)))].sort();
    return {
        refId: target.refId,
        length: last.length,
        fields: [
            { name: "Time", type: FieldType.time, config: {}, values: last.map(({ value }) => value[0] * 1000) },
            ...labels.map((name) => ({
                name, type: FieldType.string, config: {}, values: last.map(({ metric }) => metric[name] ?? ""),
            })),
            {
                name: many ? `Value #${target.refId}` : "Value", type: FieldType.number, config: {},
                values: last.map(({ value }) => Number(value[1])),
            },
        ],
    };
}

async function framesOf(panel, answers) {
    const targets = panel.targets.map((target, i) => [target, answers[i]]);
    let frames = targets.flatMap(([target, answer]) => target.format === "table"
        ? [tableFrame(target, answer, targets.length > 1)] : seriesFrames(target, answer));
    if (panel.transformations?.length) frames = await firstValueFrom(transformDataFrame(panel.transformations, frames));
    const defaults = panel.fieldConfig.defaults;
    const custom = panel.type === "timeseries" ? LINES : panel.type === "table" ? CELLS : {};
    const byPalette = { mode: panel.type === "timeseries" ? FieldColorModeId.PaletteClassic : FieldColorModeId.Thresholds };
    const { mode, steps } = defaults.thresholds ?? { mode: "absolute", steps: [{ value: null, color: "green" }] };
    const thresholds = { mode, steps: steps.map((step) => ({ ...step, value: step.value ?? -Infinity })) };
    const data = applyFieldOverrides({
        data: frames, theme, replaceVariables: (text) => text, timeZone: "utc", fieldConfigRegistry: registry,
        fieldConfig: {
            defaults: { color: byPalette, ...defaults, thresholds, custom: { ...custom, ...defaults.custom } },
            overrides: panel.fieldConfig.overrides,
        },
    });
    cacheFieldDisplayNames(data);
    return data;
}

function repeated(panel, frames, width, height, draw) {
    const options = panel.options;
    const getValues = () => getFieldDisplayValues({
        fieldConfig: panel.fieldConfig, reduceOptions: options.reduceOptions, replaceVariables: (text) => text, theme,
        data: frames, sparkline: options.graphMode !== "none" && panel.type === "stat", timeZone: "utc",
    });
    return h(VizRepeater, {
        getValues, getAlignmentFactors: getDisplayValueAlignmentFactors, width, height, source: frames,
        renderCounter: 0, autoGrid: true, itemSpacing: 3,
        orientation: options.orientation === "horizontal" ? VizOrientation.Horizontal
            : options.orientation === "vertical" ? VizOrientation.Vertical : VizOrientation.Auto,
        renderValue: ({ value, width, height, count, alignmentFactors }) =>
            draw(value, { width, height, count, alignmentFactors }),
    });
}

const drawers = {
    stat(panel, frames, width, height) {
        const { textMode, colorMode, graphMode } = panel.options;
        return repeated(panel, frames, width, height, (value, place) => h(BigValue, {
            ...place, value: value.display, theme, sparkline: value.sparkline, justifyMode: "auto",
            colorMode: colorMode ?? BigValueColorMode.Value, graphMode: graphMode ?? BigValueGraphMode.Area,
            textMode: textMode ?? BigValueTextMode.Auto, text: panel.options.text,
        }));
    },
    bargauge(panel, frames, width, height) {
        return repeated(panel, frames, width, height, (value, place) => h(BarGauge, {
            ...place, value: value.display, theme, field: value.field, showUnfilled: true, itemSpacing: 8,
            orientation: panel.options.orientation, displayMode: panel.options.displayMode, text: panel.options.text,
        }));
    },
    timeseries(panel, frames, width, height, range) {
        return h(TimeSeries, {
            frames, width, height, timeRange: range, timeZone: "utc", structureRev: 1,
            legend: { showLegend: true, calcs: [], ...panel.options.legend },
        });
    },
    table(panel, frames, width, height, range) {
        return h(TableNG, { data: frames[0], width, height, timeRange: range, fieldConfig: panel.fieldConfig,
            noHeader: panel.options.showHeader === false, cellHeight: panel.options.cellHeight ?? "sm",
            sortBy: panel.options.sortBy });
    },
};

function panelElement(panel, frames, range, unit) {
    const { x, y, w, h: rows } = panel.gridPos;
    const width = w * unit - GAP, height = rows * (ROW + GAP) - GAP;
    const place = { position: "absolute", left: x * unit + GAP, top: y * (ROW + GAP), width, height };
    const isEmpty = frames.every((frame) => frame.length === 0);
    const body = (width, height) => isEmpty
        ? h("div", { style: { display: "grid", placeItems: "center", height, fontSize: 18 } }, panel.fieldConfig.defaults.noValue ?? "No data")
        : drawers[panel.type](panel, frames, width, height, range);
    return h("section", { key: panel.id, "data-panel": panel.id, "data-empty": isEmpty || undefined, style: place },
        h(PanelChrome, { title: panel.title, description: panel.description, width, height }, body));
}

function headElement(board, chosen, range) {
    const line = { display: "flex", alignItems: "center", gap: 8, padding: "0 16px", fontSize: theme.typography.fontSize };
    const box = { border: `1px solid ${theme.colors.border.medium}`, borderRadius: 2, padding: "5px 10px",
        background: theme.colors.background.primary };
    const spans = Object.entries(chosen).map(([name, value]) =>
        h("span", { key: name, style: box }, h("strong", null, name), ` ${value}`));
    const time = `${range.from.utc().format("YYYY-MM-DD HH:mm:ss")} to ${range.to.utc().format("HH:mm:ss")} UTC`;
    return h("header", null,
        h("div", { style: { ...line, height: BAR, fontSize: 16, fontWeight: 500 } }, board.title),
        h("div", { style: { ...line, height: VARIABLES } }, spans, h("span", { style: { ...box, marginLeft: "auto" } }, time)));
}

// Names of all units that Grafana has; it writes any other behind the number.
window.knownUnits = () => getValueFormats().flatMap(({ submenu }) => submenu.map(({ value }) => value));

window.drawDashboard = async (board, answers, range, chosen) => {
    const unit = (window.innerWidth - GAP) / COLUMNS;
    const raw = { from: dateTime(range.from), to: dateTime(range.to) };
    const time = { ...raw, raw };
    const panels = board.panels.filter((panel) => panel.gridPos.y * (ROW + GAP) + BAR + VARIABLES < window.innerHeight);
    const drawn = await Promise.all(panels.map(async (panel) =>
        panelElement(panel, await framesOf(panel, answers[panel.id]), time, unit)));
    const context = { eventsScope: "global", eventBus: new EventBusSrv() };
    // Charts measure and draw their texts once.
    await Promise.all(["400", "500"].map((weight) => document.fonts.load(`${weight} 12px Inter`)));
    createRoot(document.getElementById("dashboard")).render(h(ThemeContext.Provider, { value: theme },
        h(GlobalStyles, { isExtensionSidebarOpen: false }),
        headElement(board, chosen, time),
        h(PanelContextProvider, { value: context }, h("main", { style: { position: "relative" } }, drawn))));
};
