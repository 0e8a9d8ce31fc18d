/** Files that say what is right, or what may run. */
const PROTECTED =
  /(?:^|\/)(?:tests?|__tests__|spec)\/|\.(?:test|spec)\.[cm]?[jt]sx?$|(?:^|\/)(?:package(?:-lock)?\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|tsconfig[^/]*\.json|\.npmrc|\.env[^/]*|\.git[^/]*|retake\.config\.[^/]+|(?:vitest|jest|eslint)\.config\.[^/]+|polic(?:y|ies)\.(?:ya?ml|json)|[^/]+\.policy\.(?:ya?ml|json))$|(?:^|\/)\.(?:github|husky|retake|vscode)\//

/** Folders that a trial links, or does not have at all. */
const OUTSIDE = /(?:^|\/)(?:node_modules|\.git)\//

/** True for a file that a fix may neither change nor write. The path is relative to the project. */
export const isProtected = (file: string): boolean => {
  const relative = file.replaceAll('\\', '/')
  return PROTECTED.test(relative) || OUTSIDE.test(relative)
}
