import { Hono } from 'hono'
import type { ServerEnv } from '../access.js'
import { approvalsPage } from './approvals-page.js'
import { auditPage } from './audit-page.js'
import { personPage } from './person-page.js'
import { keysPages } from './keys-page.js'
import type { ScreenParts } from './layout.js'
import { membersPage } from './members-page.js'
import { overviewPage } from './overview-page.js'
import { settingsPages } from './settings-page.js'

/** Pages of people and organizations, one file each. */
const PAGES = [
  personPage,
  overviewPage,
  membersPage,
  keysPages,
  auditPage,
  settingsPages,
  approvalsPage,
]

export const organizationPages = (parts: ScreenParts): Hono<ServerEnv> =>
  PAGES.reduce((routes, page) => routes.route('/', page(parts)), new Hono<ServerEnv>())
