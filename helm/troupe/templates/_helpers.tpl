{{- define "troupe.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "troupe.fullname" -}}
{{- if .Values.fullnameOverride }}{{ .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains (include "troupe.name" .) .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name (include "troupe.name" .) | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "troupe.selector" -}}
app.kubernetes.io/name: {{ include "troupe.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "troupe.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "troupe.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* A role's settings over the defaults, as YAML. Argument: [root, key]. */}}
{{- define "troupe.role" -}}
{{- $root := index . 0 }}
{{- $key := index . 1 }}
{{- toYaml (mergeOverwrite (deepCopy $root.Values.defaults) (deepCopy (get $root.Values.roles $key))) }}
{{- end }}

{{/* "true" when there may be no browser for a while, because KEDA starts them. */}}
{{- define "troupe.browsersSleep" -}}
{{- $role := include "troupe.role" (list . "fetcherBrowser") | fromYaml }}
{{- if and $role.enabled (eq $role.autoscaling.type "keda") (eq (int $role.autoscaling.minReplicas) 0) }}true{{ end }}
{{- end }}

{{- define "troupe.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}{{ default (include "troupe.fullname" .) .Values.serviceAccount.name }}
{{- else }}{{ default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "troupe.image" -}}
{{- $tag := default .Chart.AppVersion .Values.image.tag }}
{{- if .Values.image.digest }}{{ printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else }}{{ printf "%s:%s" .Values.image.repository $tag }}
{{- end }}
{{- end }}

{{- define "troupe.browserImage" -}}
{{- $repository := default .Values.image.repository .Values.image.browserRepository }}
{{- $tag := default .Chart.AppVersion .Values.image.tag }}
{{- if .Values.image.browserDigest }}{{ printf "%s@%s" $repository .Values.image.browserDigest }}
{{- else if .Values.image.digest }}{{ fail "image.browserDigest must be set beside image.digest: the two images have digests of their own" }}
{{- else }}{{ printf "%s:%s-browser" $repository $tag }}
{{- end }}
{{- end }}

{{- define "troupe.secretName" -}}
{{- default (printf "%s-secrets" (include "troupe.fullname" .)) .Values.secrets.existingSecret }}
{{- end }}

{{- define "troupe.claimName" -}}
{{- default (printf "%s-results" (include "troupe.fullname" .)) .Values.storage.existingClaim }}
{{- end }}

{{/* fetcherHttp -> fetcher-http */}}
{{- define "troupe.roleName" -}}
{{- kebabcase . }}
{{- end }}

{{/* Values of the chart's own Secret; two of them have to come from somewhere. */}}
{{- define "troupe.secretData" -}}
{{- range $key := list "DATABASE_URL" "NATS_URL" }}
{{- if not (or (get $.Values.secrets.keys $key) (hasKey $.Values.secrets.from $key)) }}
{{- fail (printf "%s must be set: give secrets.keys.%s, secrets.from.%s or secrets.existingSecret" $key $key $key) }}
{{- end }}
{{- end }}
{{- range $key, $value := .Values.secrets.keys }}
{{- if and $value (not (hasKey $.Values.secrets.from $key)) }}
{{ $key }}: {{ $value | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/*
Secrets as files of their names: what stands in the environment of a process, every other process of its user can read,
such as a browser. Later sources win.
*/}}
{{- define "troupe.secretsVolume" -}}
- name: secrets
  projected:
    defaultMode: 0440
    sources:
      - secret: { name: {{ include "troupe.secretName" . | quote }} }
      {{- range $key, $from := .Values.secrets.from }}
      - secret:
          name: {{ $from.name | quote }}
          items: [{ key: {{ $from.key | quote }}, path: {{ $key }} }]
      {{- end }}
{{- end }}

{{/* Single keys of Secrets that others made, such as a database operator. */}}
{{- define "troupe.secretEnv" -}}
{{- range $key, $from := .Values.secrets.from }}
- name: {{ $key }}
  valueFrom:
    secretKeyRef: { name: {{ $from.name | quote }}, key: {{ $from.key | quote }} }
{{- end }}
{{- end }}

{{/* Environment of every service. */}}
{{- define "troupe.envFrom" -}}
- configMapRef:
    name: {{ include "troupe.fullname" . }}-config
{{- with .Values.extraEnvFrom }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "troupe.commonEnv" -}}
- name: HOST
  value: 0.0.0.0
- name: PORT
  value: '3002'
- name: METRICS_PORT
  value: '9464'
- name: TROUPE_DATA_DIR
  value: /data
- name: TROUPE_SECRETS_DIR
  value: /run/secrets/troupe
- name: HOME
  value: /tmp
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}
