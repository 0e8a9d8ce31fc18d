import type { ContinuePlan } from '@retake/engine'
import { planOverlay } from '@retake/engine/plans'
import path from 'node:path'

/** A plan that writes its branch and files to another folder than its parent's. */
export function inFolder(plan: ContinuePlan, folder: string): ContinuePlan {
  const { branch } = plan
  if (branch === undefined) return plan
  const file = path.join(path.resolve(folder), path.basename(branch.path))
  return { ...plan, branch: { ...branch, path: file }, overlay: planOverlay(file) }
}
