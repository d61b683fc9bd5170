{{- define "brimful.name" -}}
{{- printf "%s-brimful" .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "brimful.selector" -}}
app.kubernetes.io/name: brimful
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "brimful.labels" -}}
{{ include "brimful.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "brimful.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{- /* Probes of a daemon: whether it answers /metrics. */ -}}
{{- define "brimful.probes" -}}
startupProbe:
  exec: {command: [/usr/libexec/brimful-health]}
  periodSeconds: 1
  timeoutSeconds: 3
  failureThreshold: 30
readinessProbe:
  exec: {command: [/usr/libexec/brimful-health]}
  periodSeconds: 5
  timeoutSeconds: 3
livenessProbe:
  exec: {command: [/usr/libexec/brimful-health]}
  periodSeconds: 10
  timeoutSeconds: 3
  failureThreshold: 3
{{- end -}}
