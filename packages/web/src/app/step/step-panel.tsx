import { clock, cost, count, duration, plural } from '@retake/tape/present'
import { keepPreviousData, queryOptions, useQuery, useQueryClient } from '@tanstack/react-query'
import { type ComponentType, useEffect } from 'react'
import { copyAsCurl } from '../../model/copy-as-curl.js'
import type { RunHead, StepDetail } from '../../model/run-source.js'
import { BlameLine } from '../blame/role-mark.js'
import { isEdited, openFork, useForkDraft, useOpenFork } from '../change/fork-draft.js'
import { reasonOf, useAbilities } from '../change/use-abilities.js'
import { StepStateBadge, useWaiting } from '../change/waiting-approvals.js'
import { useCommands } from '../commands/commands.js'
import { Badge, KIND_NAMES, KindMark, OriginBadge } from '../design/badge.js'
import { Button } from '../design/button.js'
import { CopyIcon } from '../design/icons.js'
import { lazyPart } from '../design/lazy-part.js'
import { Menu } from '../design/menu.js'
import { EmptyNote, QueryNote } from '../design/notes.js'
import { Tabs } from '../design/tabs.js'
import { copyWithToast } from '../design/toast.js'
import { type Run, useRows } from '../run/data/use-run.js'
import { useSelection } from '../run/data/use-selection.js'
import { useBackend } from '../sources/backend.js'
import { saveBytes } from './body-panel.js'
import { CallTab, McpTab } from './call-tab.js'
import { ChatTab } from './chat-tab.js'
import { ConsoleTab } from './console-tab.js'
import { EditedNote } from './edited-note.js'
import { ErrorTab } from './error-tab.js'
import { EventsTab } from './events-tab.js'
import { RequestTab, ResponseTab } from './exchange-tabs.js'
import { tabOfField } from '../values/field-path.js'
import { Field, LinkedFields, StepLink, type TabProps, useLinkTo } from '../values/field.js'
import { FilesTab } from './files-tab.js'
import { SourceTab } from './source-tab.js'
import { StateTab } from './state-tab.js'
import { StreamTab } from './stream-tab.js'
import { indexed } from '../values/text-parts.js'
import { VisibleText } from '../values/text.js'

interface StepTab {
  readonly value: string
  readonly title: string
  readonly View: ComponentType<TabProps>
}

function tabsOf(detail: StepDetail): StepTab[] {
  const { kind, conversation, call, mcp, request, response, error, failure, site } = detail
  const isFailed = error !== undefined || failure !== undefined
  const all: readonly (StepTab | false)[] = [
    conversation !== undefined && { value: 'chat', title: 'Chat', View: ChatTab },
    call !== undefined && {
      value: 'call',
      title: kind === 'process' ? 'Process' : kind === 'tool' ? 'Tool' : 'Call',
      View: CallTab,
    },
    mcp !== undefined && { value: 'mcp', title: 'MCP', View: McpTab },
    kind === 'model' &&
      (response?.chunks ?? 0) > 1 && { value: 'stream', title: 'Stream', View: StreamTab },
    request !== undefined && { value: 'request', title: 'Request', View: RequestTab },
    request !== undefined && { value: 'response', title: 'Response', View: ResponseTab },
    isFailed && { value: 'error', title: 'Error', View: ErrorTab },
    { value: 'state', title: 'State', View: StateTab },
    { value: 'console', title: 'Console', View: ConsoleTab },
    { value: 'files', title: 'Files', View: FilesTab },
    site !== undefined && { value: 'source', title: 'Source', View: SourceTab },
    { value: 'events', title: 'Events', View: EventsTab },
  ]
  return all.filter((tab) => tab !== false)
}

/** Not in reports. The editor is large and rarely needed. */
const ForkDialog =
  __REPOSITORY__ === 'live'
    ? lazyPart(async () => (await import('../change/fork-dialog.js')).ForkDialog)
    : () => null

function ForkButton({ run, step }: { run: Run; step: StepDetail }) {
  const [isOpen, close] = useOpenFork(run.id, step.label)
  const draft = useForkDraft(run.id, step.label)
  const { fork } = useAbilities(run.id, run.head.status)
  const reason = step.inferred
    ? 'this call was not recorded; fork at the step that called it'
    : reasonOf(fork)
  const title = 'change the answer or the request, or retry live'
  const open = (): void => openFork(run.id, step.label)
  useCommands((add) => {
    const options = { keys: ['f'], disabled: reason }
    add('Change', 'fork', `Fork at step ${step.label}: ${title}`, options, open)
  })
  return (
    <>
      <Button onClick={open} disabled={reason !== undefined} title={reason ?? `Fork: ${title} (f)`}>
        {isEdited(draft) ? 'Fork · draft' : 'Fork'}
      </Button>
      {isOpen && reason === undefined && <ForkDialog run={run} step={step} onClose={close} />}
    </>
  )
}

function StepActions({ run, detail }: { run: Run; detail: StepDetail }) {
  const { live } = useBackend()
  const { tab, field } = useSelection()
  const linkTo = useLinkTo()
  const { label, request } = detail
  const json = (): string => JSON.stringify(detail, undefined, 2)
  const copies = useCommands((add) => {
    add('Share', 'step.copy-link', 'Copy link', ['y'], () => {
      void copyWithToast('the link', linkTo({ step: label, tab, field }))
    })
    const disabled = request === undefined ? 'This step is not an HTTP request.' : undefined
    add('Share', 'step.copy-curl', 'Copy as curl', { keys: ['c'], disabled }, () => {
      void copyWithToast('the request as curl', async () => {
        const body = request?.body.clipped && (await run.source.body(label, 'request'))
        const text = body ? new TextDecoder('utf-8', { ignoreBOM: true }).decode(body) : undefined
        return copyAsCurl(detail, text) ?? ''
      })
    })
    add('Share', 'step.copy-json', 'Copy step as JSON', [], () => {
      void copyWithToast('the step as JSON', json())
    })
    add('Share', 'step.download-json', 'Download step as JSON', [], () =>
      saveBytes(json(), `${run.id}-step-${label}.json`, 'application/json'),
    )
  })
  return (
    <div className="flex shrink-0 items-center gap-1.5">
      {live && detail.kind !== 'crash' && <ForkButton run={run} step={detail} />}
      <Menu
        trigger={
          <Button>
            <CopyIcon />
            Copy
          </Button>
        }
        items={copies.map(({ keys, ...command }) => ({ ...command, keys: keys[0] }))}
      />
    </div>
  )
}

interface Fact {
  readonly path: string
  readonly name: string
  /** Undefined if the value is unknown. */
  readonly value: string | undefined
}

function factsOf(detail: StepDetail, head: RunHead): Fact[] {
  const { kind, costUsd, latencyMs, timeToFirstChunkMs: firstMs, lane } = detail
  const facts: (Fact | false)[] = [
    ...(kind === 'model'
      ? [
          { path: 'model', name: 'model', value: detail.model },
          { path: 'provider', name: 'provider', value: detail.provider },
          ...tokenFacts(detail),
          { path: 'costUsd', name: 'cost', value: costUsd === undefined ? costUsd : cost(costUsd) },
        ]
      : []),
    kind !== 'mark' &&
      kind !== 'crash' &&
      detail.state !== 'running' &&
      !detail.inferred && {
        path: 'latencyMs',
        name: 'took',
        value: latencyMs === undefined ? undefined : duration(latencyMs),
      },
    kind === 'model' &&
      firstMs !== undefined && {
        path: 'timeToFirstChunkMs',
        name: 'time to first token',
        value: duration(firstMs),
      },
    kind === 'model' && { path: 'finishReason', name: 'finish', value: detail.finishReason },
    { path: 'at', name: 'at', value: `+${clock(detail.at)}` },
    lane !== 0 && {
      path: 'lane',
      name: 'lane',
      value: head.lanes.find(({ id }) => id === lane)?.name ?? String(lane),
    },
  ]
  return facts.filter((fact) => fact !== false)
}

function tokenFacts({ usage }: StepDetail): Fact[] {
  if (usage === undefined) return [{ path: 'usage', name: 'tokens', value: undefined }]
  const { input, cachedInput, cacheWrite, output, reasoning, unpriced, mismatch } = usage
  const facts: (readonly [path: string, name: string, value: string | false | undefined])[] = [
    ['input', 'input', plural(input, 'token')],
    ['cachedInput', 'from cache', cachedInput !== 0 && count(cachedInput)],
    ['cacheWrite', 'to cache', cacheWrite !== 0 && count(cacheWrite)],
    ['output', 'output', plural(output, 'token')],
    ['reasoning', 'of which reasoning', reasoning !== 0 && count(reasoning)],
    ['unpriced', 'without a price', unpriced.length > 0 && unpriced.join(', ')],
    ['mismatch', "provider's numbers", mismatch],
  ]
  return facts.flatMap(([path, name, value]) =>
    typeof value === 'string' ? [{ path: `usage.${path}`, name, value }] : [],
  )
}

function StepHeader({ run, detail }: { run: Run; detail: StepDetail }) {
  const isWaiting = useWaiting(run.id)(detail)
  return (
    <header className="max-h-[45%] shrink-0 overflow-y-auto border-b border-line px-3 pt-2 pb-1.5">
      <div className="flex items-start gap-2">
        <h2 className="min-w-0 flex-1">
          <KindMark kind={detail.kind} isDecorative className="mr-1.5 inline align-text-bottom" />
          <span className="mr-2 text-muted">
            {detail.kind !== 'crash' && `step ${detail.label} · `}
            {KIND_NAMES[detail.kind]}
          </span>
          <Field path="title" isInline className="font-medium [overflow-wrap:anywhere]">
            <VisibleText text={detail.title} />
          </Field>
        </h2>
        <StepActions run={run} detail={detail} />
      </div>
      <div className="mt-1 flex flex-wrap items-center gap-x-3 gap-y-0.5 text-sm">
        <span className="flex gap-1 empty:hidden">
          <StepStateBadge state={detail.state} isWaiting={isWaiting} />
          {!detail.inferred && (detail.origin !== 'live' || run.head.branch !== undefined) && (
            <OriginBadge origin={detail.origin} />
          )}
          {detail.inferred && (
            <Badge title="Inferred from the conversation: the call itself was not recorded.">
              inferred
            </Badge>
          )}
        </span>
        {factsOf(detail, run.head).map(({ path, name, value }) => (
          <Field key={path} path={path} isInline className="max-w-full">
            <span className="text-muted">{name}</span>{' '}
            <VisibleText
              text={shortValue(value ?? 'unknown')}
              className={value === undefined ? 'text-muted italic' : '[overflow-wrap:anywhere]'}
            />
          </Field>
        ))}
        <ScopePath detail={detail} />
        {detail.parent !== undefined && (
          <span>
            <span className="text-muted">{detail.kind === 'crash' ? 'after' : 'called by'}</span>{' '}
            <StepLink label={detail.parent}>step {detail.parent}</StepLink>
          </span>
        )}
      </div>
      <EditedNote head={run.head} label={detail.label} />
      <BlameLine run={run} label={detail.label} />
      {detail.error !== undefined &&
        detail.kind !== 'crash' &&
        !detail.title.includes(detail.error) && (
          <p className="mt-1 line-clamp-3 text-danger [overflow-wrap:anywhere]">
            <Field path="error" isInline>
              <VisibleText text={detail.error} />
            </Field>
          </p>
        )}
    </header>
  )
}

/** Shortens names from the recording, so that one cannot hide the others. Its tab shows all of it. */
const shortValue = (value: string): string =>
  value.length > 120 ? `${value.slice(0, 120)}…` : value

/** `agent › node › tool`, outermost first. */
function ScopePath({ detail: { scopes } }: { detail: StepDetail }) {
  if (scopes.length === 0) return null
  return (
    <span className="max-w-full [overflow-wrap:anywhere]">
      <span className="text-muted">in</span>{' '}
      {indexed(scopes).map(({ index, item: { kind, name } }) => (
        <span key={index}>
          {index > 0 && <span className="text-muted"> › </span>}
          <Field path={`scopes.${index}`} isInline>
            <span className="text-muted">{kind}</span> <VisibleText text={shortValue(name)} />
          </Field>
        </span>
      ))}
    </span>
  )
}

export function StepPanel({ run }: { run: Run }) {
  const { step } = useSelection()
  const { detail, isOld, isGone, error } = useStep(run, step)
  return (
    <div
      data-panel="step"
      aria-busy={isOld}
      className="flex min-h-0 min-w-0 flex-1 flex-col bg-surface"
    >
      {step === undefined && <EmptyNote title="Select a step." />}
      {step !== undefined && isGone && (
        <EmptyNote title={`There is no step ${step.slice(0, 40)} in this run.`} />
      )}
      {step !== undefined && detail === undefined && !isGone && (
        <QueryNote what={`step ${step.slice(0, 40)}`} error={error} />
      )}
      {step !== undefined && detail !== undefined && (
        <div className={`flex min-h-0 flex-1 flex-col ${isOld ? 'opacity-60' : ''}`}>
          <OneStep run={run} detail={detail} />
        </div>
      )}
    </div>
  )
}

function OneStep({ run, detail }: { run: Run; detail: StepDetail }) {
  const { tab, field, show } = useSelection()
  const tabs = tabsOf(detail)
  const { kind, response } = detail
  const named = (value: string | undefined) => tabs.find((each) => each.value === value)
  // What came of a request: many requests, such as GET, have no body to show.
  const outcome = kind === 'http' ? named(response === undefined ? 'error' : 'response') : undefined
  const shown = named(tab) ?? named(tabOfField(field ?? '')) ?? outcome ?? tabs[0]
  useCommands((add) => {
    for (const [index, { value, title }] of tabs.entries())
      add('Look', `step.tab.${value}`, `Show ${title}`, index < 9 ? [String(index + 1)] : [], () =>
        show(value),
      )
  })
  return (
    <LinkedFields label={detail.label} tab={shown?.value} field={field}>
      <StepHeader run={run} detail={detail} />
      <Tabs
        label={`Views of step ${detail.label}`}
        value={shown?.value ?? ''}
        onChange={(value) => show(value)}
        tabs={tabs.map(({ value, title, View }) => ({
          value,
          title,
          content:
            value === shown?.value ? (
              <div
                key={detail.label}
                ref={field === undefined ? showTop : undefined}
                className="contents"
              >
                <View run={run} detail={detail} />
              </div>
            ) : null,
        }))}
      />
    </LinkedFields>
  )
}

/** Scrolls to the top when the step changes. */
function showTop(element: HTMLElement | null): void {
  element?.closest('[role=tabpanel]')?.scrollTo(0, 0)
}

/** Shows the previous step while the next one loads, and prefetches the neighbours. */
function useStep(run: Run, label: string | undefined) {
  useRows(run.rows)
  const client = useQueryClient()
  const query = useQuery({
    ...stepQuery(run, label ?? ''),
    enabled: label !== undefined,
    placeholderData: keepPreviousData,
  })
  const index = label === undefined ? -1 : run.rows.indexOf(label)
  const isSettled = !query.isPlaceholderData && query.data !== undefined
  useEffect(() => {
    if (index < 0 || !isSettled) return
    for (const next of [index + 1, index - 1]) {
      if (next < 0 || next >= run.rows.length) continue
      void client.prefetchQuery(stepQuery(run, run.rows.at(next).label))
    }
  }, [client, run, index, isSettled])
  return {
    detail: query.data ?? undefined,
    /** True while `detail` is still that of the previous step. */
    isOld: query.isPlaceholderData && query.data?.label !== label,
    isGone: query.data === null && !query.isPlaceholderData,
    error: query.error,
  }
}

/** Refetches a running step whenever its run has grown. */
export function stepQuery(run: Run, label: string) {
  const index = run.rows.indexOf(label)
  const isRunning = index >= 0 && run.rows.at(index).state === 'running'
  return queryOptions({
    queryKey: ['step', run.id, label, isRunning ? run.head.events : 'settled'],
    queryFn: async () => (await run.source.step(label)) ?? null,
    gcTime: 60_000,
  })
}
