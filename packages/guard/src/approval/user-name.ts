import { userInfo } from 'node:os'

/** The name of whoever runs this process. In containers it may have none. */
export function userName(): string {
  try {
    return userInfo().username
  } catch {
    return 'somebody'
  }
}
