{{- define "eidolon.watchRules" -}}
# Jobs of sweeps are made, and jobs go when their time after the end is over; all other writes are their users' own.
- apiGroups: [eidolon.dev]
  resources: [simulationjobs]
  verbs: [get, list, watch, create, delete]
- apiGroups: [eidolon.dev]
  resources: [simulatedclusters, simulationsweeps]
  verbs: [get, list, watch]
- apiGroups: [eidolon.dev]
  resources: [simulationjobs/status, simulatedclusters/status, simulationsweeps/status]
  verbs: [get, patch]
# Children block the deletion of their owners.
- apiGroups: [eidolon.dev]
  resources: [simulationjobs/finalizers, simulatedclusters/finalizers, simulationsweeps/finalizers]
  verbs: [update]
- apiGroups: [batch]
  resources: [jobs]
  verbs: [get, list, watch]
- apiGroups: [apps]
  resources: [deployments]
  verbs: [get, list, watch]
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create]
{{- end -}}

{{- define "eidolon.workRules" -}}
- apiGroups: [batch]
  resources: [jobs]
  verbs: [create, patch, delete]
- apiGroups: [apps]
  resources: [deployments]
  verbs: [create, patch, delete]
- apiGroups: [""]
  resources: [services]
  verbs: [get, create, patch, delete]
{{- if .Values.networkPolicy.enabled }}
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [get, create, patch, delete]
{{- end }}
# Creating is only ever tried (dryRun), to tell users what admission would say.
- apiGroups: [""]
  resources: [pods]
  verbs: [create]
- apiGroups: [""]
  resources: [pods/log]
  verbs: [get]
# What the job controller was refused is told by events alone.
- apiGroups: [""]
  resources: [events]
  verbs: [list]
{{- include "eidolon.actRules" . }}
{{- end -}}

{{- /* Where the controller may make pods it can run as any ServiceAccount anyway, so this gives it no more. */ -}}
{{- define "eidolon.actRules" }}
# Writes of REST are made in the name of who asks, so that the API server judges and logs them as theirs.
- apiGroups: [""]
  resources: [serviceaccounts]
  verbs: [impersonate]
{{- end -}}
