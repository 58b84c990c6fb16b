// Asks what would help a job: a sweep of its own document over what one can change without changing the program. Where the
// server replays recordings, the program runs once for all points.

import {postYaml, sweepPath} from "./api.js";
import {predictionOf, targetOf} from "./job_fields.js";

// What one would buy after it.
const NEXT_GPU = [["A100", "H100-SXM5-80GB"], ["H100", "B200-SXM-180GB"], ["H200", "B200-SXM-180GB"], ["B200", "B300-SXM-288GB"]];

const nextGpu = (gpu) => (NEXT_GPU.find(([name]) => gpu.startsWith(name)) || [])[1];

/** The values to try, by field: {} where there is nothing to ask. */
export function questionsOf(job) {
  const {cluster, ranks} = predictionOf(job).target || {};
  const {server = {}} = cluster || {};
  const {servers} = targetOf(job);
  const next = nextGpu(server.gpu || "");
  return {
    ...(next ? {"cluster.server.gpu": [server.gpu, next]} : {}),
    ...(servers > 1 && (server.nics || {}).gbps ? {"cluster.server.nics.gbps": [server.nics.gbps, 2 * server.nics.gbps]} : {}),
    // A folded job has no recording.
    ...(predictionOf(job).folding ? {} : {"replay.hostFactor": [1, 0.5],
      ...(ranks > 1 ? {"replay.communicationFactor": [1, 0]} : {})}),
  };
}

const withoutReplays = (matrix) => Object.fromEntries(Object.entries(matrix).filter(([path]) => !path.startsWith("replay.")));

/** Submits the sweep; resolves to it. */
export async function askWhatWouldHelp(job) {
  const {namespace, name} = job.metadata;
  const {suspend, ttlSecondsAfterFinished, replay, ...spec} = job.spec;
  const create = (matrix) => postYaml(sweepPath(namespace), JSON.stringify({apiVersion: job.apiVersion, kind: "SimulationSweep",
    metadata: {generateName: `${name.slice(0, 28)}-help-`}, spec: {job: spec, matrix}}));
  const matrix = questionsOf(job);
  try {
    return await create(matrix);
  } catch (problem) {
    // Kubernetes has no replays.
    const left = withoutReplays(matrix);
    if (problem.status !== 422 || Object.keys(left).length === 0 || Object.keys(left).length === Object.keys(matrix).length) {
      throw problem;
    }
    return create(left);
  }
}
