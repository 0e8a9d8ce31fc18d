import type { ComponentType } from 'react'
import type { StepDetail } from '../../../model/step-detail.js'
import { ChatTab } from '../chat/chat-tab.js'
import { ConsoleTab } from '../console/console-tab.js'
import { ErrorTab } from '../error/error-tab.js'
import { EventsTab } from '../events/events-tab.js'
import { tabOfField } from '../field/tab-of-field.js'
import { FilesTab } from '../files/files-tab.js'
import { RequestTab } from '../raw/request-tab.js'
import { ResponseTab } from '../raw/response-tab.js'
import { SourceTab } from '../source/source-tab.js'
import { StateTab } from '../state/state-tab.js'
import { StreamTab } from '../stream/stream-tab.js'
import { CallTab } from './call-tab.js'
import { McpTab } from './mcp-tab.js'
import type { TabProps } from './tab-props.js'

/** One way to look at a step. */
export interface StepTab {
  /** As it stands in the address. */
  readonly value: string
  readonly title: string
  readonly View: ComponentType<TabProps>
}

/** The ways that make sense for a step, the first of them first to be seen. */
export function tabsOf(detail: StepDetail): StepTab[] {
  const { kind, conversation, call, mcp, request, response, error, failure, site } = detail
  const isFailed = error !== undefined || failure !== undefined
  const all: readonly (StepTab | false)[] = [
    conversation !== undefined && { value: 'chat', title: 'Chat', View: ChatTab },
    call !== undefined && { value: 'call', title: callTitle(kind), View: CallTab },
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

const callTitle = (kind: StepDetail['kind']): string =>
  kind === 'process' ? 'Process' : kind === 'tool' ? 'Tool' : 'Call'

/** The tab to show: the one that is asked for, else the one a field is in, else the first. */
export function chooseTab(
  tabs: readonly StepTab[],
  { tab, field }: { readonly tab: string | undefined; readonly field: string | undefined },
): StepTab | undefined {
  const named = (value: string | undefined): StepTab | undefined =>
    tabs.find((each) => each.value === value)
  return named(tab) ?? named(tabOfField(field ?? '')) ?? tabs[0]
}
