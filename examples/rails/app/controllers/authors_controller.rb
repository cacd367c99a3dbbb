class AuthorsController < ApplicationController
  def destroy
    Author.find_by!(name: params[:id]).destroy!
    head :no_content
  end
end
