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
{{- if eq (include "eidolon.impersonation" .) "constrained" }}
- apiGroups: [eidolon.dev]
  resources: [simulationjobs, simulatedclusters, simulationsweeps]
  verbs: ["impersonate-on:serviceaccount:create", "impersonate-on:serviceaccount:patch", "impersonate-on:serviceaccount:delete"]
{{- end }}
{{- end -}}

{{- /* Kubernetes 1.36 bounds what an impersonator may do as a user; before, the permission is for everything. */ -}}
{{- define "eidolon.impersonation" -}}
{{- $mode := .Values.controller.impersonate.mode | default "auto" -}}
{{- if ne $mode "auto" }}{{ $mode }}
{{- else if semverCompare ">=1.36.0-0" .Capabilities.KubeVersion.Version }}constrained
{{- else }}full{{ end -}}
{{- end -}}

{{- define "eidolon.actRules" }}
# Writes of REST are made in the name of the user, so that the API server judges and logs them as the user's.
{{- if eq (include "eidolon.impersonation" .) "constrained" }}
- apiGroups: [authentication.k8s.io]
  resources: [serviceaccounts]
  verbs: ["impersonate:serviceaccount"]
{{- else }}
- apiGroups: [""]
  resources: [serviceaccounts]
  verbs: [impersonate]
{{- end }}
{{- end -}}
