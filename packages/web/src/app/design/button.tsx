import type { ComponentProps } from 'react'
import { buttonLook, type ButtonLook } from './button-look.js'

export interface ButtonProps extends ComponentProps<'button'> {
  readonly look?: ButtonLook
}

export function Button({ look, className, ...rest }: ButtonProps) {
  return <button type="button" className={buttonLook(look, className)} {...rest} />
}
